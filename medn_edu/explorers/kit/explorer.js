// The browser's side of medn_edu.explorers.Explorer: controls, one picture, one sentence.
//
// Every control is a list of texts; only positions travel.  One picture is asked for at a time: when it
// arrives, the newest positions are asked for, and what nobody waits for is not drawn.  After a single
// step, by an arrow key say, the kernel is told which would be the next, and draws it ahead.  The
// pictures of the control whose kind is "time" are fetched one by one while the reader rests, so that
// playing and scrubbing need no kernel; a move never waits for more than one of them.  Pictures are
// drawn for the width and the pixel ratio of the page.  Nothing moves unless the reader starts it.

const ANNOUNCE_AFTER = 600; // ms without a change before a screen reader hears the sentence
const WAITING_AFTER = 1500; // ms before the reader is told that the kernel is busy
const FILL_AFTER = 250; // ms of attention before the pictures of the time are fetched
const REST_AFTER = 700; // ... and of rest, when the kernel has been asked for a move
const FIT_AFTER = 300; // ms without a change of width before the picture is drawn for it
const RESTARTED = "The kernel was restarted: run this cell again.";
const GONE = "The kernel has stopped: start one and run this cell again.";

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

// An element that shows a frame, and knows it.
async function decoded(png, { alt, summary }) {
  const image = new Image();
  const url = URL.createObjectURL(new Blob([png], { type: "image/png" }));
  image.src = url;
  image.alt = alt;
  await image.decode().catch(() => {}); // on a busy machine; then it is decoded when it is shown
  image.dataset.url = url;
  image.frame = { png, alt, summary };
  return image;
}

function render({ model, el }) {
  const id = crypto.randomUUID?.() ?? String(Math.random());
  const pictured = model.picture?.bind(model) ?? decoded; // a page without a kernel has its own pictures
  const specs = model.get("controls");
  const time = specs.find((spec) => spec.kind === "time");
  const positions = { ...model.get("frame").positions };
  const inputs = {}; // name -> function that shows a position in its control
  let serial = 0; // number of the last move
  let shown = 0; // number of the move now shown
  let waiting = null; // the move whose picture is under way
  let filling = null; // the pictures of the time that are under way, or an animation
  let dead = false; // the kernel that drew has gone
  let step = null; // the last move, if it was a single step: which control, and which way
  let saving = false; // an animation is wanted, as soon as no request is under way
  let stack = { key: "", frames: new Map() };
  let player = null;
  let current = null;
  let seen = { ...positions }; // the positions of the picture now shown
  // The room for the picture: its width in CSS pixels, and how many real ones each of them has.
  let room = model.get("room");
  const timers = {};

  const later = (name, delay, action) => {
    clearTimeout(timers[name]);
    timers[name] = setTimeout(action, delay);
  };

  // -- the page -----------------------------------------------------------------------------
  const picture = element("div", { class: "medn-picture" });
  const sentence = element("p", { class: "medn-summary" });
  const spoken = element("p", { class: "medn-spoken", "aria-live": "polite", role: "status" });
  const status = element("p", { class: "medn-status", role: "alert" });
  const panel = element("div", { class: "medn-controls" });
  const root = element("div", { class: "medn-explorer", role: "group" }, panel, picture, sentence, spoken);
  root.setAttribute("aria-label", `Moving figure: ${model.get("name").replaceAll("-", " ")}`);
  root.style.maxWidth = `${model.get("width")}px`;
  el.append(root);

  const put = (image, moved = true) => {
    if (current !== image) picture.replaceChildren(image);
    if (current && current !== image && !current.dataset.kept) URL.revokeObjectURL(current.dataset.url);
    current = image;
    root.frame = image.frame; // what saves the notebook takes it from here
    sentence.textContent = image.frame.summary;
    later("announce", ANNOUNCE_AFTER, () => { spoken.textContent = image.frame.summary; });
    if (moved) root.dataset.shown = String(Number(root.dataset.shown ?? 0) + 1);
  };

  // -- asking the kernel ----------------------------------------------------------------------
  const stackKey = () =>
    JSON.stringify([room, specs.filter((spec) => spec !== time).map((spec) => positions[spec.name])]);

  const tell = (kind, more = {}) => {
    if (dead) return;
    try {
      model.send({ kind, view: id, serial, positions: { ...positions }, room, ...more });
    } catch {
      end(GONE);
    }
  };

  const draw = () => {
    waiting = { serial };
    clearTimeout(timers.fill);
    later("waiting", WAITING_AFTER, () => { status.textContent = model.get("waiting") ?? "Waiting for the kernel…"; });
    tell("draw");
  };

  const answered = () => {
    waiting = null;
    clearTimeout(timers.waiting);
    status.textContent = saving ? status.textContent : "";
    if (time && !complete()) later("fill", REST_AFTER, fill);
  };

  const save = () => {
    saving = true;
    status.textContent = "Saving the animation…";
    tell("save");
  };

  // A kernel that has gone answers nothing: say so, next to controls that show what is seen.
  const end = (text) => {
    if (dead) return;
    dead = true;
    stop();
    Object.values(timers).forEach(clearTimeout);
    for (const [name, position] of Object.entries(seen)) inputs[name](position);
    for (const node of panel.querySelectorAll("input, select, button")) node.disabled = true;
    status.textContent = text;
  };

  const complete = () => time && stack.frames.size === time.texts.length;

  // Only where the reader is: the kernel draws for one figure at a time, and must have time for moves.
  const attended = () => root.matches(":hover, :focus-within");

  const fill = () => {
    if (!time || waiting || filling || complete() || !attended()) return;
    filling = stackKey();
    tell("stack", { have: [...stack.frames.keys()] });
  };

  const renew = () => {
    if (stack.key === stackKey()) return;
    for (const frame of stack.frames.values()) {
      if (frame !== current) URL.revokeObjectURL(frame.dataset.url);
      delete frame.dataset.kept;
    }
    stack = { key: stackKey(), frames: new Map() };
    root.dataset.frames = "0";
  };

  const refresh = () => {
    renew();
    const ready = time && stack.frames.get(positions[time.name]);
    if (ready) {
      shown = serial;
      seen = { ...positions };
      put(ready);
      later("tell", FILL_AFTER, () => { if (!waiting) tell("moved"); });
    } else if (!waiting) {
      draw();
    }
    if (ready && !complete()) later("fill", FILL_AFTER, fill);
  };

  // The next step the same way is drawn while this one is looked at.
  const lookAhead = () => {
    if (step === null || waiting) return;
    const next = positions[step.name] + step.by;
    const { texts } = specs.find((spec) => spec.name === step.name);
    if (next < 0 || next >= texts.length) return;
    tell("prepare", { positions: { ...positions, [step.name]: next } });
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
    const image = await pictured(frame.png, frame);
    if (dead) return URL.revokeObjectURL(image.dataset.url); // the kernel went while it was decoded
    if (mine) answered();
    if (mine && frame.serial < shown) return URL.revokeObjectURL(image.dataset.url);
    if (!mine) {
      for (const [name, position] of Object.entries(frame.positions)) {
        positions[name] = position;
        inputs[name](position);
      }
    }
    const moved = !mine || frame.serial > shown;
    shown = mine ? frame.serial : shown;
    seen = { ...frame.positions };
    put(image, moved);
    if (mine && frame.serial < serial) refresh();
    else if (mine) lookAhead();
  };

  const onMessage = async (message, buffers) => {
    if (dead || message.view !== id) return;
    if (message.kind === "stack") {
      const image = await pictured(buffers[0], message);
      const wanted = filling === stack.key;
      filling = null;
      if (!wanted) return URL.revokeObjectURL(image.dataset.url);
      image.dataset.kept = "yes";
      stack.frames.set(message.position, image);
      root.dataset.frames = String(stack.frames.size);
      if (message.serial === serial) fill();
    } else if (message.kind === "saved") {
      saving = false;
      status.textContent = "";
      const url = URL.createObjectURL(new Blob([buffers[0]], { type: "image/gif" }));
      element("a", { href: url, download: message.file }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10000);
    } else if (message.kind === "failed") {
      waiting = filling = null;
      saving = false;
      clearTimeout(timers.waiting);
      status.textContent = message.text;
      if (message.serial < serial) refresh();
    }
  };

  // In JupyterLab the notebook's session knows what becomes of its kernel.
  const session = model.widget_manager?.context?.sessionContext;
  const onStatus = (_, status) => { if (status.endsWith("restarting")) end(RESTARTED); };
  const onKernel = (_, { newValue }) => end(newValue ? RESTARTED : GONE);

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
    for (const [name, position] of Object.entries(model.get("start"))) {
      positions[name] = position;
      inputs[name](position);
    }
    serial += 1;
    refresh();
  };

  const playerRow = () => {
    const row = element("div", { class: "medn-player" });
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
      status,
    );
    return row;
  };

  const makers = { slider: range, time: range, choice, check };
  const rows = element("div", { class: "medn-rows" });
  for (const spec of specs) {
    const label = element("label", {}, spec.label);
    const row = element("div", { class: `medn-row medn-${spec.kind}` }, ...makers[spec.kind](spec, label));
    // check boxes that follow each other share a line
    const line = rows.lastChild?.classList.contains("medn-checks") ? rows.lastChild : element("div", { class: "medn-checks" });
    if (spec.kind === "check") line.append(row);
    rows.append(spec.kind === "check" ? line : row);
    inputs[spec.name](positions[spec.name]);
  }
  panel.append(rows, playerRow());

  // A picture that nearly fits is left alone until the reader turns to it.
  const measured = () => {
    const width = Math.round(Math.min(picture.clientWidth || Infinity, model.get("width")));
    return { width, ratio: window.devicePixelRatio || 1 };
  };
  const onResize = () => later("fit", FIT_AFTER, () => {
    const now = measured();
    if (Math.abs(now.width - room.width) < 0.03 * room.width && now.ratio <= 1.3 * room.ratio) return;
    room = now;
    if (!waiting) draw();
  });

  // The pictures of the time are fetched while the reader is turned to this figure, at rest.
  const turnedTo = () => {
    room = measured();
    renew();
    later("fill", FILL_AFTER, fill);
  };
  root.addEventListener("pointerenter", turnedTo);
  root.addEventListener("focusin", turnedTo);

  const resizing = new ResizeObserver(onResize);
  resizing.observe(picture);

  model.on("change:frame", onFrame);
  model.on("msg:custom", onMessage);
  session?.statusChanged.connect(onStatus);
  session?.kernelChanged.connect(onKernel);
  const first = model.get("frame");
  pictured(first.png, first).then((image) => { if (!current) put(image); });

  return () => {
    stop();
    Object.values(timers).forEach(clearTimeout);
    resizing.disconnect();
    model.off("change:frame", onFrame);
    model.off("msg:custom", onMessage);
    session?.statusChanged.disconnect(onStatus);
    session?.kernelChanged.disconnect(onKernel);
    for (const frame of stack.frames.values()) URL.revokeObjectURL(frame.dataset.url);
    if (current) URL.revokeObjectURL(current.dataset.url);
  };
}

export default { render };
