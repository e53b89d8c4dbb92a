// Makes pages quicker; every page works without it.
"use strict";

// Search as one types: the results are fetched and put in place, and the address follows.
for (const form of document.querySelectorAll("form[data-live]")) {
  let pending = 0;
  const refresh = async () => {
    const mine = ++pending;
    const address = `${form.action}?${new URLSearchParams(new FormData(form))}`;
    const answer = await fetch(address, { headers: { "X-Part": "results" } });
    if (mine !== pending || !answer.ok) return;
    const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
    document.getElementById(form.dataset.live).replaceChildren(...parsed.body.childNodes);
    history.replaceState(null, "", address);
  };
  let timer = 0;
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, 150);
  });
}

// Keys: / to search, j and k from one event to the next.
document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, textarea, select") || event.ctrlKey || event.metaKey) return;
  if (event.key === "/") {
    event.preventDefault();
    document.querySelector("input[type=search]").focus();
  } else if (event.key === "j" || event.key === "k") {
    const events = [...document.querySelectorAll("article.event")];
    const below = events.findIndex((each) => each.getBoundingClientRect().top > 8);
    const place = event.key === "j" ? below : (below < 0 ? events.length : below) - 2;
    events[Math.max(0, place)]?.scrollIntoView();
  }
});
