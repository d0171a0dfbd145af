// The chart of progress: a line under the pointer or the arrow keys says its day. PNG and link are made here, too.
"use strict";
(() => {
  const told = (id) => JSON.parse(document.getElementById(id).textContent);

  function walk(chart) {
    const plot = chart.querySelector(".prog-plot");
    const cross = chart.querySelector("[data-chart-cross]");
    const said = document.querySelector("[data-chart-said]");
    const days = told("chart-said");
    const places = told("chart-places");
    let at = days.length - 1;
    Object.entries({
      tabindex: 0, role: "slider", "aria-label": "Day of the chart", "aria-valuemin": 0, "aria-valuemax": at,
    }).forEach(([name, value]) => plot.setAttribute(name, value));
    const show = (number) => {
      at = Math.max(0, Math.min(days.length - 1, number));
      plot.setAttribute("aria-valuenow", at);
      plot.setAttribute("aria-valuetext", days[at]);
      cross.style.left = `${places[at]}%`;
      said.textContent = days[at];
    };
    const see = () => { cross.hidden = false; };
    said.hidden = false;
    show(at);
    plot.addEventListener("focus", see);
    plot.addEventListener("pointermove", (event) => {
      const box = plot.getBoundingClientRect();
      const x = (100 * (event.clientX - box.left)) / box.width;
      const near = places.map((place) => Math.abs(place - x));
      see();
      show(near.indexOf(Math.min(...near)));
    });
    plot.addEventListener("keydown", (event) => {
      const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: days.length - 1, PageUp: at - 7, PageDown: at + 7 };
      if (!(event.key in next)) return;
      event.preventDefault();
      see();
      show(next[event.key]);
    });
  }

  async function savePng(link) {
    const image = new Image();
    image.src = link.href;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = 2 * image.width;
    canvas.height = 2 * image.height;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    const file = await new Promise((done) => { canvas.toBlob(done, "image/png"); });
    const save = document.createElement("a");
    save.href = URL.createObjectURL(file);
    save.download = link.dataset.png;
    save.click();
    setTimeout(() => URL.revokeObjectURL(save.href), 10000);
  }

  async function copyLink(button) {
    const word = button.textContent;
    try {
      await navigator.clipboard.writeText(location.href);
      button.textContent = "Copied";
    } catch (refused) {
      button.textContent = "Copy it from the address bar";
    }
    setTimeout(() => { button.textContent = word; }, 2000);
  }

  for (const chart of document.querySelectorAll("[data-chart]")) walk(chart);
  document.addEventListener("click", (event) => {
    const png = event.target.closest("[data-png]");
    const link = event.target.closest("[data-act=copy-link]");
    if (png) { event.preventDefault(); savePng(png); }
    if (link) copyLink(link);
  });
})();
