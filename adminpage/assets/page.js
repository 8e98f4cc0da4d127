// The page is whole without this script. With it, times are told as "3 minutes
// ago", long tables can be narrowed, and the overview reads itself again.
"use strict";

const steps = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];

function ago(text) {
  const seconds = Math.round((Date.now() - Date.parse(text)) / 1000);
  const past = Math.abs(seconds);
  for (const [size, noun] of steps) {
    const n = Math.floor(past / size);
    if (n >= 1) {
      const words = n + " " + noun + (n === 1 ? "" : "s");
      return seconds < 0 ? "in " + words : words + " ago";
    }
  }
  return "just now";
}

function tellTimes(part) {
  for (const time of part.querySelectorAll("time")) {
    time.title = time.title || time.textContent;
    const words = ago(time.dateTime);
    if (time.textContent !== words) {
      time.textContent = words;
    }
  }
}

// What was typed above a table, by the table's subject: it outlives a reading.
const typed = new Map();
const longEnough = 8;

function narrow(table, text) {
  const wanted = text.trim().toLowerCase();
  for (const row of table.tBodies[0].rows) {
    row.hidden = !row.textContent.toLowerCase().includes(wanted);
  }
}

function addFilters(part) {
  for (const table of part.querySelectorAll("table[data-filter]")) {
    const subject = table.dataset.filter;
    if (table.tBodies[0].rows.length < longEnough && !typed.get(subject)) {
      continue;
    }
    const label = document.createElement("label");
    const input = document.createElement("input");
    label.className = "filter";
    label.append("Narrow " + subject + " to ", input);
    input.type = "search";
    input.value = typed.get(subject) || "";
    input.addEventListener("input", () => {
      typed.set(subject, input.value);
      narrow(table, input.value);
    });
    table.before(label);
    narrow(table, input.value);
  }
}

function equip(part) {
  tellTimes(part);
  addFilters(part);
}

const every = 5000;

// The overview as the server last sent it.
let sent = document.getElementById("live")?.innerHTML;

// The overview is replaced by a new one where that says something else, but not
// under somebody's hands: not while it has the keyboard, a selection, or is out of
// sight.
async function readAgain() {
  const old = document.getElementById("live");
  const busy = old.contains(document.activeElement) || String(getSelection()) !== "";
  if (document.hidden || busy) {
    return;
  }
  try {
    const response = await fetch("/", { cache: "no-store" });
    const text = await response.text();
    const part = new DOMParser().parseFromString(text, "text/html").getElementById("live");
    if (!response.ok || !part) {
      throw new Error(response.status);
    }
    document.body.classList.remove("stale");
    if (part.innerHTML === sent) {
      tellTimes(old);
      return;
    }
    sent = part.innerHTML;
    equip(part);
    old.replaceWith(part);
  } catch {
    document.body.classList.add("stale");
  }
}

equip(document);
if (document.getElementById("live")) {
  setInterval(readAgain, every);
}
