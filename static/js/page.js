// Comfort only: every page works without this file.
"use strict";
(() => {
  const root = document.documentElement;
  const one = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];

  // ---- theme: system -> the other one -> back to the system
  const systemIsDark = () => matchMedia("(prefers-color-scheme: dark)").matches;
  function turnTheme() {
    const shown = root.dataset.theme || (systemIsDark() ? "dark" : "light");
    const next = shown === "dark" ? "light" : "dark";
    const system = systemIsDark() ? "dark" : "light";
    if (next === system) delete root.dataset.theme;
    else root.dataset.theme = next;
    try {
      if (next === system) localStorage.removeItem("karpdash-theme");
      else localStorage.setItem("karpdash-theme", next);
    } catch (refused) {
      // Kept for this page only.
    }
    say(`${next} theme`);
  }

  function say(text) {
    const live = one("#said");
    if (live) live.textContent = text;
  }

  // ---- copy buttons
  function addCopyButtons(from) {
    for (const block of all(".code", from)) {
      if (one(".copy", block)) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "button button-small copy";
      button.textContent = "Copy";
      button.addEventListener("click", () => copy(one("pre", block).textContent, button));
      block.append(button);
    }
  }

  async function copy(text, button) {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
      say("Copied");
    } catch (refused) {
      button.textContent = "Select and copy by hand";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  }

  // ---- the tool of one's fixes: kept with the account, and shown at once wherever it stands on this page
  function keepTool(radio) {
    const tool = radio.dataset.tool;
    for (const group of all(".remedy")) {
      const same = group.querySelector(`:scope > input[data-tool="${tool}"]`);
      if (same && group !== radio.parentElement) same.checked = true;
    }
    const body = new FormData();
    body.set("tool", tool);
    body.set("quiet", "yes");
    body.set("csrfmiddlewaretoken", one("[name=csrfmiddlewaretoken]").value);
    fetch(radio.parentElement.dataset.toolKept, { method: "POST", body, keepalive: true, redirect: "manual" }).catch(() => {});
  }

  // ---- relative times keep up while a page stays open
  const STEPS = [[60, "second", 1], [3600, "minute", 60], [86400, "hour", 3600], [Infinity, "day", 86400]];
  function ago(then) {
    const seconds = Math.round((Date.now() - then) / 1000);
    if (Math.abs(seconds) < 45) return seconds >= 0 ? "just now" : "in a moment";
    const [, unit, size] = STEPS.find(([limit]) => Math.abs(seconds) < limit);
    const count = Math.round(Math.abs(seconds) / size);
    const words = `${count} ${unit}${count === 1 ? "" : "s"}`;
    return seconds >= 0 ? `${words} ago` : `in ${words}`;
  }
  function tick() {
    for (const stamp of all("time[data-relative]")) stamp.textContent = ago(Date.parse(stamp.dateTime));
  }
  // The exact time of the server, and the same moment where the reader is.
  function tellLocal() {
    for (const stamp of all("time[datetime]:not([data-local])")) {
      const local = new Date(stamp.dateTime).toLocaleString(undefined, { timeZoneName: "short" });
      stamp.title = stamp.title ? `${stamp.title}, here ${local}` : `here ${local}`;
      stamp.dataset.local = "";
    }
  }

  // ---- keys
  const rows = () => all("[data-row]").filter((row) => row.checkVisibility());
  let at = -1;
  function step(by) {
    const list = rows();
    if (!list.length) return;
    const focused = list.findIndex((row) => row.contains(document.activeElement));
    at = Math.max(0, Math.min(list.length - 1, (focused >= 0 ? focused : at) + by));
    (one("a, summary", list[at]) || list[at]).focus();
    list[at].scrollIntoView({ block: "nearest" });
  }

  let waitingForGo = 0;
  const GO = { f: "[data-go=fleet]", r: "[data-go=rollouts]", c: "[data-go=catalogue]", n: "[data-go=register]" };
  function typing(target) {
    return target.closest("input, textarea, select, [contenteditable]") && target.type !== "radio";
  }
  // ---- the command palette: Ctrl+K from anywhere, arrows move through what was found
  function openPalette() {
    const box = one("#palette");
    box.showModal();
    const input = one("input", box);
    input.select();
    input.dispatchEvent(new CustomEvent("palette", { bubbles: true }));
  }
  function inPalette(event) {
    const places = all("input, #found a", one("#palette"));
    const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (way) {
      event.preventDefault();
      const next = places.indexOf(document.activeElement) + way;
      places[Math.max(0, Math.min(places.length - 1, next))].focus();
    }
    if (event.key === "Enter" && document.activeElement === places[0] && places[1]) {
      event.preventDefault();
      places[1].click();
    }
  }

  function onKey(event) {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k" && one("#palette")) {
      event.preventDefault();
      if (!one("dialog[open]")) openPalette();
      return;
    }
    if (one("#palette[open]")) { inPalette(event); return; }
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || one("dialog[open]")) return;
    if (Date.now() < waitingForGo) {
      waitingForGo = 0;
      const link = GO[event.key] && one(GO[event.key]);
      if (link) { event.preventDefault(); link.click(); }
      return;
    }
    const keys = {
      "/": () => { const box = one("[data-search]"); if (box) { box.focus(); box.select(); } },
      "g": () => { waitingForGo = Date.now() + 1200; },
      "j": () => step(1),
      "k": () => step(-1),
      "?": () => one("#keys").showModal(),
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  // ---- deep links to a folded row open it
  function openTarget() {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    for (let fold = target; fold; fold = fold.parentElement) if (fold.tagName === "DETAILS") fold.open = true;
    if (target) target.scrollIntoView();
  }

  // ---- a part that asks again by itself says so when no answer comes; an answer puts a new part in its place
  const LATE = 8000;
  const heard = new WeakMap();
  function unheard(part, failed = false) {
    if (!heard.has(part)) heard.set(part, Date.now());
    const since = heard.get(part);
    const told = one("[data-unheard]", part);
    if (!told || !told.hidden || (!failed && Date.now() - since < Number(part.dataset.late || LATE))) return;
    one("[data-unheard-since]", part).textContent = `${new Date(since).toISOString().slice(11, 19)} UTC`;
    told.hidden = false;
  }
  const listen = () => { for (const part of all("[data-polls]")) unheard(part); };
  for (const name of ["htmx:sendError", "htmx:responseError", "htmx:timeout"]) {
    document.addEventListener(name, (event) => {
      const part = event.target.closest("[data-polls]");
      if (part) unheard(part, true);
    });
  }

  // ---- a form that keeps what was typed: only its own page takes its place, anything else is said beside it
  const keeping = (event) => event.target.closest("[data-keeps-input]") || one("[data-keeps-input]", event.target);
  const itself = (xhr) => new URL(xhr.responseURL || location.href).pathname === location.pathname;
  const unsent = (form, failed) => { for (const note of all("[data-unsent]", form)) note.hidden = !failed; };
  document.addEventListener("htmx:beforeSwap", (event) => {
    const form = keeping(event);
    if (!form || itself(event.detail.xhr)) return;
    event.detail.shouldSwap = false;
    unsent(form, true);
  });
  for (const name of ["htmx:sendError", "htmx:responseError", "htmx:timeout"]) {
    document.addEventListener(name, (event) => { if (keeping(event)) unsent(keeping(event), true); });
  }
  document.addEventListener("htmx:beforeRequest", (event) => { if (keeping(event)) unsent(keeping(event), false); });
  document.addEventListener("htmx:afterSettle", (event) => {
    const problem = keeping(event) && one(".problem, [role=alert]:not([hidden])", keeping(event));
    if (problem) problem.scrollIntoView({ block: "center" });
  });

  // ---- a page that reloads by itself does not take away the page that somebody is already on the way to
  let leaving = false;
  addEventListener("beforeunload", () => {
    leaving = true;
    setTimeout(() => { leaving = false; }, 10000);  // a download leaves the page where it is
  });
  // ---- nor what somebody presses at that moment: a click on a part that was replaced meanwhile would be lost
  const HELD = 10000;
  let released = 0;
  const release = () => { delete root.dataset.pressed; };
  addEventListener("pointerdown", (event) => {
    if (!event.target.closest("a, button, input, label, select, summary")) return;
    clearTimeout(released);
    root.dataset.pressed = "";
    released = setTimeout(release, HELD);
  }, true);
  for (const name of ["pointerup", "pointercancel"]) addEventListener(name, () => setTimeout(release), true);
  document.addEventListener("htmx:beforeOnLoad", (event) => {
    const { requestConfig: { elt, triggeringEvent }, xhr } = event.detail;
    const asked = !triggeringEvent && elt.matches("[data-polls]");
    const held = asked && xhr.status < 400 && ("pressed" in root.dataset || kept(elt));
    if (held) heard.set(elt, Date.now());
    if (held || leaving) event.preventDefault();
  });

  // ---- clusters chosen in the fleet's list: the bar of bulk actions rises, and the list is not swapped meanwhile
  const picks = () => all(".pick");
  function pick() {
    const bar = one("[data-bulk]");
    if (!bar) return;
    const count = picks().filter((box) => box.checked).length;
    bar.classList.toggle("is-on", count > 0);
    one("[data-picked]", bar).textContent = `(${count} selected)`;
  }
  function pickAll(chosen) {
    for (const box of picks()) box.checked = chosen;
    pick();
  }
  const kept = (part) => part.hasAttribute("data-keep-while-picked") && (document.hidden
    || picks().some((box) => box.checked)
    || one("#clusters:focus-within, #fleet-head:focus-within, #status-tabs:focus-within"));
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (!kept(event.target)) return;
    event.preventDefault();
    heard.set(event.target, Date.now());
  });

  // ---- messages: what worked leaves by itself, unless it is being read; what went wrong stays until it is closed
  const STAY = 8000;
  function closeToast(toast) {
    const focused = toast.contains(document.activeElement);
    toast.remove();
    if (focused) one("#content").focus();
  }
  function letLeave(toast) {
    let timer = 0;
    const wait = () => {
      clearTimeout(timer);
      if (!document.hidden && !toast.matches(":hover, :focus-within")) timer = setTimeout(() => closeToast(toast), STAY);
    };
    for (const name of ["pointerenter", "pointerleave", "focusin"]) toast.addEventListener(name, wait);
    toast.addEventListener("focusout", () => setTimeout(wait));
    document.addEventListener("visibilitychange", wait);
    wait();
  }

  // ---- a runbook's stages are ticked off for the reader alone; what is done is told by a scan
  const ticked = (list) => `karpdash-ticks ${list.dataset.ticks}`;
  function showTicks(list) {
    let kept = [];
    try { kept = JSON.parse(localStorage.getItem(ticked(list)) || "[]"); } catch (refused) { return; }
    for (const box of all("[data-tick]", list)) {
      box.checked = kept.includes(box.dataset.tick);
      box.closest("li").classList.toggle("done", box.checked);
    }
  }
  function keepTicks(list) {
    const kept = all("[data-tick]:checked", list).map((box) => box.dataset.tick);
    try { localStorage.setItem(ticked(list), JSON.stringify(kept)); } catch (refused) { return; }
    showTicks(list);
  }

  document.addEventListener("keydown", onKey);
  document.addEventListener("click", (event) => {
    const act = event.target.closest("[data-act]");
    if (act && act.dataset.act === "theme") turnTheme();
    if (act && act.dataset.act === "print") print();
    if (act && act.dataset.act === "close-toast") closeToast(act.closest("[data-toast]"));
    if (act && act.dataset.act === "keys") one("#keys").showModal();
    if (act && act.dataset.act === "palette") { event.preventDefault(); openPalette(); }
    if (act && act.dataset.act === "pick-all") pickAll(true);
    if (act && act.dataset.act === "pick-none") pickAll(false);
    for (const menu of all("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") for (const menu of all("details.menu[open]")) menu.open = false;
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches(".pick")) pick();
    if (event.target.matches("[data-tick]")) keepTicks(event.target.closest("[data-ticks]"));
    if (event.target.matches(".remedy > input[data-tool]")) keepTool(event.target);
    if (event.target.matches("[data-autosubmit] select, [data-autosubmit] input[type=radio]")) event.target.form.requestSubmit();
  });
  document.addEventListener("htmx:afterSwap", (event) => { addCopyButtons(event.target); tick(); tellLocal(); listen(); });
  addEventListener("hashchange", openTarget);
  // A runbook is printed with its commands; what was folded on the screen is folded again afterwards.
  addEventListener("beforeprint", () => {
    for (const folded of all(".plan-stage details:not([open])")) { folded.open = true; folded.dataset.printed = ""; }
  });
  addEventListener("afterprint", () => {
    for (const folded of all("details[data-printed]")) { folded.open = false; delete folded.dataset.printed; }
  });
  addCopyButtons(document);
  openTarget();
  tellLocal();
  setInterval(tick, 20000);
  listen();
  setInterval(listen, 1000);
  pick();
  all("[data-leaves]").forEach(letLeave);
  all("[data-ticks]").forEach(showTicks);
})();
