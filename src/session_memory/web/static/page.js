// Makes pages quicker; every page works without it.
"use strict";

const parts = { headers: { "X-Part": "results" } };

const swap = async (target, address) => {
  const answer = await fetch(address, parts);
  if (!answer.ok) return false;
  const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
  target.replaceChildren(...parsed.body.childNodes);
  return true;
};

// Search as one types: the results are fetched and put in place, and the address follows.
for (const form of document.querySelectorAll("form[data-live]")) {
  const target = document.getElementById(form.dataset.live);
  let timer = 0;
  let asked = "";
  let busy = false;
  const refresh = async () => {
    const address = `${form.action}?${new URLSearchParams(new FormData(form))}`;
    if (busy || address === asked) return;
    busy = true;
    asked = address;
    if (await swap(target, address)) history.replaceState(null, "", address);
    busy = false;
    refresh(); // what was typed meanwhile
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, 150);
  });
}

// What a fold holds is fetched when it is opened.
document.addEventListener("toggle", (event) => {
  const fold = event.target;
  if (!fold.open || !fold.dataset.load) return;
  const place = document.createElement("div");
  fold.append(place);
  swap(place, fold.dataset.load);
  delete fold.dataset.load;
}, true);

// What takes seconds is fetched once the page is shown; its link stays if that fails.
for (const place of document.querySelectorAll("[data-later]")) {
  place.setAttribute("aria-busy", "true");
  swap(place, place.dataset.later).catch(() => {}).finally(() => place.removeAttribute("aria-busy"));
}

// An address may name an event inside a fold.
const unfold = () => {
  const named = document.getElementById(location.hash.slice(1));
  const fold = named?.closest("details") ?? named?.querySelector("details");
  if (fold) fold.open = true;
  if (named) named.scrollIntoView();
};
addEventListener("hashchange", unfold);
if (location.hash) unfold();

// Buttons that only a script can serve.
for (const button of document.querySelectorAll("button[data-copy]")) button.hidden = false;
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  const label = button.textContent;
  try {
    const answer = await fetch(button.dataset.copy);
    await navigator.clipboard.writeText(await answer.text());
    button.textContent = "copied";
  } catch {
    button.textContent = "not copied";
  }
  setTimeout(() => { button.textContent = label; }, 1500);
});

// A choice takes effect at once.
for (const form of document.querySelectorAll("form[data-at-once]")) {
  form.addEventListener("change", () => form.requestSubmit());
}

// The figure under the pointer or the keyboard's focus.
const tip = document.createElement("div");
tip.id = "tip";
tip.hidden = true;
document.body.append(tip);
const show = (event) => {
  const mark = event.target.closest?.("svg [data-tip]");
  tip.hidden = !mark;
  if (!mark) return;
  tip.textContent = mark.dataset.tip;
  const box = mark.getBoundingClientRect();
  const left = Math.min(box.left, innerWidth - tip.offsetWidth - 8);
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, box.top - tip.offsetHeight - 6)}px`;
};
document.addEventListener("mouseover", show);
document.addEventListener("focusin", show);

// Keys: / to search, j and k from one event to the next.
document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, textarea, select") || event.ctrlKey || event.metaKey) return;
  if (event.key === "/") {
    event.preventDefault();
    (document.querySelector("main input[type=search]") ?? document.querySelector("input[type=search]")).focus();
  } else if (event.key === "j" || event.key === "k") {
    const events = [...document.querySelectorAll("article.event, section.hits, article.rule")];
    const below = events.findIndex((each) => each.getBoundingClientRect().top > 12);
    const place = event.key === "j" ? below : (below < 0 ? events.length : below) - 2;
    events[Math.max(0, place)]?.scrollIntoView();
  }
});
