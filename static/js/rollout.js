// The live part of a rollout's page: asked for two seconds after a change and four seconds after none, later where
// the answer says so because many watch, replaced when it changed; "disconnected" is shown when nobody answers.
"use strict";
(() => {
  const live = document.querySelector("[data-live]");
  if (!live || !live.hasAttribute("data-polled")) return;
  const AFTER_CHANGE = 2000;
  const AFTER_NONE = 4000;
  const LATE = 8000;
  let tag = "";
  let pause = 0;
  let lostSince = null;
  let leaving = false;
  addEventListener("beforeunload", () => {
    leaving = true;
    setTimeout(() => { leaving = false; }, 10000);  // a download leaves the page where it is
  });

  // A click on a part that is replaced between press and release would be lost: the next answer comes soon enough.
  const pressed = () => "pressed" in document.documentElement.dataset;

  function lost(yes) {
    if (!yes) lostSince = null;
    else if (!lostSince) lostSince = new Date();
    for (const line of live.querySelectorAll("[data-unheard]")) {
      line.hidden = !yes;
      if (yes) line.querySelector("[data-unheard-since]").textContent = `${lostSince.toISOString().slice(11, 19)} UTC`;
    }
  }

  // Never by sending a form anew: what a refused form brought up stands at the address of that form.
  function again() {
    if (leaving || pressed()) return;
    if (location.pathname === live.dataset.page) location.reload();
    else location.replace(live.dataset.page);
  }

  // Parsed apart: nothing in it is run. Only parts that changed are taken over, so that what is open, selected or
  // focused elsewhere stays as it is.
  const known = new Map();
  function take(text) {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    for (const part of fresh.querySelectorAll("[data-part]")) {
      const name = part.dataset.part;
      const here = document.querySelector(`[data-part="${name}"]`);
      if (!here || (known.has(name) && known.get(name).isEqualNode(part))) continue;
      known.set(name, part.cloneNode(true));
      here.replaceWith(part);
      part.dispatchEvent(new CustomEvent("htmx:afterSwap", { bubbles: true }));
    }
  }

  // True when something changed.
  async function look() {
    try {
      // Asked by the page and not by its person, as htmx says it: it does not keep a session alive.
      const headers = { "HX-Request": "true", ...(tag && { "If-None-Match": tag }) };
      // Who does not answer at all is given up, and told as lost, as well.
      const signal = AbortSignal.timeout(LATE);
      const answer = await fetch(live.dataset.live, { headers, cache: "no-store", credentials: "same-origin", signal });
      if (answer.redirected || answer.status === 403 || answer.status === 404) { again(); return false; }
      if (answer.status !== 200 && answer.status !== 304) { lost(true); return false; }
      // What may be done depends on the state: the whole page is asked for anew, once it moved.
      const version = answer.headers.get("X-Rollout-Version");
      if (version && version !== live.dataset.version) { again(); return false; }
      const text = answer.status === 200 && await answer.text();
      if (pressed()) { lost(false); return false; }
      tag = answer.headers.get("ETag") || "";
      pause = 1000 * (Number(answer.headers.get("X-Rollout-Pause")) || 0);
      if (text) take(text);
      lost(false);
      return answer.status === 200;
    } catch (refused) {
      lost(true);
      return false;
    }
  }

  async function loop() {
    const changed = document.hidden || await look();
    setTimeout(loop, Math.max(pause, changed ? AFTER_CHANGE : AFTER_NONE));
  }
  setTimeout(loop, AFTER_CHANGE);
})();
