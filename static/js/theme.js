// Runs before the page is drawn, so that a chosen theme never flashes; without a choice the system decides.
"use strict";
document.documentElement.classList.add("js");
try {
  const chosen = localStorage.getItem("karpdash-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch (refused) {
  // A browser that keeps nothing for us shows the system's theme.
}
