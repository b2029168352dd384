// The browser's side of medn_edu.explorers.Explorer: controls, one picture, one sentence.
//
// Every control is a list of texts; only positions travel.  One request is under way at a time: when
// its picture arrives, the newest positions are asked for, and what nobody waits for is not drawn.
// After a single step, by an arrow key say, the kernel is told which would be the next, and draws it
// ahead.  The pictures of the control whose kind is "time" are kept here, so that playing and scrubbing
// need no kernel.  Nothing moves unless the reader starts it.

const ANNOUNCE_AFTER = 600; // ms without a change before a screen reader hears the sentence
const WAITING_AFTER = 1500; // ms before the reader is told that the kernel is busy
const FILL_AFTER = 250; // ms of rest before the pictures of the time are fetched

const element = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
};

// JupyterLab must not take the arrow keys for itself while a control has the focus; it looks for this
// mark on the focused element first.
const focusable = (tag, attributes) =>
  element(tag, { ...attributes, "data-lm-suppress-shortcuts": "true" });

async function decoded(png, alt) {
  const image = new Image();
  const url = URL.createObjectURL(new Blob([png], { type: "image/png" }));
  image.src = url;
  image.alt = alt;
  await image.decode().catch(() => {}); // on a busy machine; then it is decoded when it is shown
  image.dataset.url = url;
  return image;
}

function render({ model, el }) {
  const id = crypto.randomUUID?.() ?? String(Math.random());
  const specs = model.get("controls");
  const time = specs.find((spec) => spec.kind === "time");
  const positions = { ...model.get("frame").positions };
  const inputs = {}; // name -> function that shows a position in its control
  let serial = 0; // number of the last move
  let shown = 0; // number of the move now shown
  let waiting = null; // the request under way
  let step = null; // the last move, if it was a single step: which control, and which way
  let saving = false; // an animation is wanted, as soon as no request is under way
  let stack = { key: "", frames: new Map() };
  let player = null;
  let current = null;
  const timers = {};

  const later = (name, delay, action) => {
    clearTimeout(timers[name]);
    timers[name] = setTimeout(action, delay);
  };

  // -- the page -----------------------------------------------------------------------------
  const picture = element("div", { class: "medn-picture" });
  const sentence = element("p", { class: "medn-summary" });
  const spoken = element("p", { class: "medn-spoken", "aria-live": "polite", role: "status" });
  const status = element("p", { class: "medn-status" });
  const panel = element("div", { class: "medn-controls" });
  const root = element(
    "div", { class: "medn-explorer", role: "group" }, panel, picture, sentence, status, spoken,
  );
  root.setAttribute("aria-label", `Moving figure: ${model.get("name").replaceAll("-", " ")}`);
  root.style.maxWidth = `${model.get("width")}px`;
  el.append(root);

  const put = (image, summary) => {
    if (current !== image) picture.replaceChildren(image);
    if (current && current !== image && !current.dataset.kept) URL.revokeObjectURL(current.dataset.url);
    current = image;
    sentence.textContent = summary;
    later("announce", ANNOUNCE_AFTER, () => { spoken.textContent = summary; });
    root.dataset.shown = String(Number(root.dataset.shown ?? 0) + 1);
  };

  // -- asking the kernel ----------------------------------------------------------------------
  const stackKey = () =>
    JSON.stringify(specs.filter((spec) => spec !== time).map((spec) => positions[spec.name]));

  const ask = (kind, more = {}) => {
    waiting = { kind, serial, key: stackKey() };
    later("waiting", WAITING_AFTER, () => { status.textContent = "Waiting for the kernel…"; });
    model.send({ kind, view: id, serial, positions: { ...positions }, ...more });
  };

  const answered = () => {
    waiting = null;
    clearTimeout(timers.waiting);
    status.textContent = "";
    if (saving) save();
    else if (time && !complete()) later("fill", FILL_AFTER, fill);
  };

  const save = () => {
    saving = Boolean(waiting);
    if (!saving) ask("save");
    status.textContent = "Saving the animation…";
  };

  const complete = () => time && stack.frames.size === time.texts.length;

  // Only where the reader is: the kernel draws for one figure at a time, and must have time for moves.
  const attended = () => root.matches(":hover, :focus-within");

  const fill = () => {
    if (!time || waiting || complete() || !attended()) return;
    ask("stack", { have: [...stack.frames.keys()] });
  };

  const renew = () => {
    if (stack.key === stackKey()) return;
    for (const frame of stack.frames.values()) {
      if (frame.image !== current) URL.revokeObjectURL(frame.image.dataset.url);
      delete frame.image.dataset.kept;
    }
    stack = { key: stackKey(), frames: new Map() };
    root.dataset.frames = "0";
  };

  const refresh = () => {
    renew();
    const ready = time && stack.frames.get(positions[time.name]);
    if (ready) {
      shown = serial;
      put(ready.image, ready.summary);
      later("tell", FILL_AFTER, () => { if (!waiting) model.send({ kind: "moved", view: id, positions }); });
    } else if (!waiting) {
      ask("draw");
    }
    if (ready && !complete()) later("fill", FILL_AFTER, fill);
  };

  // The next step the same way is drawn while this one is looked at.
  const lookAhead = () => {
    if (step === null || waiting) return;
    const next = positions[step.name] + step.by;
    const { texts } = specs.find((spec) => spec.name === step.name);
    if (next < 0 || next >= texts.length) return;
    model.send({ kind: "prepare", view: id, positions: { ...positions, [step.name]: next } });
  };

  const move = (name, position) => {
    const by = position - positions[name];
    step = Math.abs(by) === 1 ? { name, by } : null;
    positions[name] = position;
    inputs[name](position);
    serial += 1;
    refresh();
  };

  // -- answers --------------------------------------------------------------------------------
  const onFrame = async () => {
    const frame = model.get("frame");
    const mine = frame.view === id;
    if (!mine && frame.view !== "" && waiting) return; // another view moved while we do
    const image = await decoded(frame.png, frame.alt);
    if (mine) answered();
    if (mine && frame.serial < shown) return URL.revokeObjectURL(image.dataset.url);
    if (!mine) {
      for (const [name, position] of Object.entries(frame.positions)) {
        positions[name] = position;
        inputs[name](position);
      }
    }
    shown = mine ? frame.serial : shown;
    put(image, frame.summary);
    if (mine && frame.serial < serial) refresh();
    else if (mine) lookAhead();
  };

  const onMessage = async (message, buffers) => {
    if (message.view !== id) return;
    if (message.kind === "stack") {
      const key = waiting?.key;
      const images = await Promise.all(
        message.frames.map((frame, i) => decoded(buffers[i], frame.alt)),
      );
      answered();
      if (key !== stack.key) {
        images.forEach((image) => URL.revokeObjectURL(image.dataset.url));
      } else {
        message.frames.forEach((frame, i) => {
          images[i].dataset.kept = "yes";
          stack.frames.set(frame.position, { image: images[i], summary: frame.summary });
        });
        root.dataset.frames = String(stack.frames.size);
      }
      if (message.serial < serial) refresh();
      else fill();
    } else if (message.kind === "saved") {
      answered();
      const url = URL.createObjectURL(new Blob([buffers[0]], { type: "image/gif" }));
      element("a", { href: url, download: message.file }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10000);
    } else if (message.kind === "failed") {
      waiting = null;
      saving = false;
      clearTimeout(timers.waiting);
      status.textContent = message.text;
      if (message.serial < serial) refresh();
    }
  };

  // -- controls -------------------------------------------------------------------------------
  const range = (spec, label) => {
    const last = spec.texts.length - 1;
    const input = focusable("input", { type: "range", min: 0, max: last, step: 1, id: `${id}-${spec.name}` });
    const output = element("output", { for: input.id });
    inputs[spec.name] = (position) => {
      input.value = position;
      input.setAttribute("aria-valuetext", spec.texts[position]);
      output.textContent = spec.texts[position];
    };
    output.style.minWidth = `${Math.max(...spec.texts.map((text) => text.length))}ch`;
    input.addEventListener("input", () => { stop(); move(spec.name, Number(input.value)); });
    if (spec === time) {
      input.title = "Arrow keys step, Home and End jump, the space bar plays";
      input.addEventListener("keydown", (event) => {
        if (event.key !== " ") return;
        event.preventDefault();
        play();
      });
    }
    label.htmlFor = input.id;
    return [label, input, output];
  };

  const choice = (spec, label) => {
    const input = focusable("select", { id: `${id}-${spec.name}` });
    spec.texts.forEach((text, i) => input.append(element("option", { value: i }, text)));
    inputs[spec.name] = (position) => { input.value = position; };
    input.addEventListener("change", () => move(spec.name, Number(input.value)));
    label.htmlFor = input.id;
    return [label, input];
  };

  const check = (spec, label) => {
    const input = focusable("input", { type: "checkbox", id: `${id}-${spec.name}` });
    inputs[spec.name] = (position) => { input.checked = position === 1; };
    input.addEventListener("change", () => move(spec.name, Number(input.checked)));
    label.htmlFor = input.id;
    return [label, input];
  };

  const button = (text, title, action) => {
    const node = focusable("button", { type: "button", title, "aria-label": title });
    node.textContent = text;
    node.addEventListener("click", action);
    return node;
  };

  // -- playing --------------------------------------------------------------------------------
  let playButton = null;

  function stop() {
    if (player === null) return;
    clearInterval(player);
    player = null;
    playButton.textContent = "▶ Play";
    playButton.setAttribute("aria-label", "Play");
    playButton.title = "Play";
  }

  const stepTime = (by) => {
    const last = time.texts.length - 1;
    move(time.name, Math.min(last, Math.max(0, positions[time.name] + by)));
  };

  const play = () => {
    if (player !== null) return stop();
    if (positions[time.name] === time.texts.length - 1) move(time.name, 0);
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    const rate = calm ? Math.min(1, time.per_second) : time.per_second;
    playButton.textContent = "⏸ Pause";
    playButton.setAttribute("aria-label", "Pause");
    playButton.title = "Pause";
    player = setInterval(() => {
      if (waiting && !stack.frames.has(positions[time.name])) return; // let the kernel keep up
      stepTime(1);
      if (positions[time.name] === time.texts.length - 1) stop();
    }, 1000 / rate);
  };

  const reset = () => {
    stop();
    step = null;
    for (const spec of specs) {
      positions[spec.name] = spec.start;
      inputs[spec.name](spec.start);
    }
    serial += 1;
    refresh();
  };

  const playerRow = () => {
    const row = element("div", { class: "medn-row medn-player" });
    if (time) {
      playButton = button("▶ Play", "Play", play);
      row.append(
        playButton,
        button("◀", "One step back", () => { stop(); stepTime(-1); }),
        button("▶|", "One step on", () => { stop(); stepTime(1); }),
      );
    }
    row.append(
      button("⟲ Reset", "Back to the start", reset),
      button("Save animation", "Save the animation as a GIF file", save),
    );
    return row;
  };

  const makers = { slider: range, time: range, choice, check };
  for (const spec of specs) {
    const label = element("label", {}, spec.label);
    panel.append(element("div", { class: "medn-row" }, ...makers[spec.kind](spec, label)));
    inputs[spec.name](positions[spec.name]);
  }
  panel.append(playerRow());

  // The pictures of the time are fetched while the reader is turned to this figure, at rest.
  const turnedTo = () => { renew(); later("fill", FILL_AFTER, fill); };
  root.addEventListener("pointerenter", turnedTo);
  root.addEventListener("focusin", turnedTo);

  model.on("change:frame", onFrame);
  model.on("msg:custom", onMessage);
  const first = model.get("frame");
  decoded(first.png, first.alt).then((image) => { if (!current) put(image, first.summary); });

  return () => {
    stop();
    Object.values(timers).forEach(clearTimeout);
    model.off("change:frame", onFrame);
    model.off("msg:custom", onMessage);
    for (const frame of stack.frames.values()) URL.revokeObjectURL(frame.image.dataset.url);
    if (current) URL.revokeObjectURL(current.dataset.url);
  };
}

export default { render };
