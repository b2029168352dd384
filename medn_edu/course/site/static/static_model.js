// Explorers without a kernel: the model that `render` talks to, answered from a pack of frames.
//
// A pack is a classic script, because modules and fetch fail on file://; it is loaded when its figure
// comes near.  A frame is the page's own picture with overlays, each above the one that it names.

class StaticModel {
  constructor(spec, still) {
    const summary = still.nextElementSibling.textContent;
    const frame = { png: -1, alt: still.alt, summary, positions: spec.start, view: "", serial: 0 };
    this.values = { ...spec, frame, waiting: "Waiting for the pictures…" };
    const [width, height] = spec.size;
    this.canvas = element("canvas", { width, height, role: "img" });
    Object.assign(this, { still, paper: element("img", { src: still.src }), listeners: [] });
  }

  get(key) { return this.values[key]; }
  on(event, action) { this.listeners.push([event, action]); }
  off(event, action) { this.listeners = this.listeners.filter((each) => each[1] !== action); }
  tell(event, ...what) { for (const [of, action] of this.listeners) if (of === event) action(...what); }

  load() {
    this.pack ??= new Promise((resolve, reject) => {
      const src = `${document.documentElement.dataset.content_root}frames/${this.values.frames}.js`;
      const onload = () => resolve(window.medn_frames[this.values.frames]);
      document.head.append(Object.assign(element("script", { src }), { onload, onerror: reject }));
    });
    return this.pack;
  }

  // The frame of the most similar setting.  The control that was moved counts most, so that it shows.
  async frame(positions) {
    const pack = await this.load();
    const specs = this.values.controls;
    const far = (at) => specs.reduce((sum, { name, kind, texts }, k) => {
      const by = Math.abs(at[k] - positions[name]);
      const share = kind === "slider" || kind === "time" ? by / (texts.length - 1 || 1) : Number(by > 0);
      return sum + share * (positions[name] === this.values.frame.positions[name] ? 1 : 10);
    }, 0);
    const distances = pack.at.map(far);
    const png = distances.indexOf(Math.min(...distances));
    const others = specs.flatMap(({ name, label, texts }, k) =>
      pack.at[png][k] === positions[name] ? [] : [`${label}: ${texts[pack.at[png][k]]}`]);
    const note = others.length ? `This page has no picture of that. The nearest has ${others.join(", ")}. ` : "";
    return { png, alt: pack.alt[png], summary: note + pack.summary[png] };
  }

  // All but a move to draw is meant for a kernel: nothing has to be fetched ahead here.
  async send({ kind, view, serial, positions }) {
    if (kind !== "draw") return;
    const justWider = JSON.stringify(positions) === JSON.stringify(this.values.frame.positions);
    const frame = justWider ? this.values.frame : await this.frame(positions).catch(() => null);
    if (frame) this.show({ ...frame, positions, view, serial });
    else this.tell("msg:custom", { kind: "failed", view, serial, text: "The pictures can't be loaded." });
  }

  show(frame) {
    this.values.frame = frame;
    this.tell("change:frame");
  }

  // Draws a frame, on the one canvas that the explorer puts into the page.  Its parts come together at
  // full size, because overlays that are made smaller one by one leave traces of what they should hide.
  async picture(number, { alt, summary }) {
    const layers = [];
    const pack = number < 0 ? null : await this.load();
    for (let i = number; i >= 0; i = pack.below[i]) {
      const src = pack.overlay[i] && `data:image/webp;base64,${pack.overlay[i]}`;
      if (src) layers.unshift([element("img", { src }), ...pack.box[i].slice(0, 2)]);
    }
    layers.unshift([this.paper, 0, 0]);
    const all = layers.map(([image]) => image.decode().catch(() => {}));
    await (this.drawn = Promise.all([this.drawn, ...all]).then(() => {})); // none overtakes another
    for (const layer of layers) this.canvas.getContext("2d").drawImage(...layer);
    this.canvas.setAttribute("aria-label", alt);
    this.canvas.dataset.number = number;
    return Object.assign(this.canvas, { frame: { alt, summary } });
  }
}

for (const figure of document.querySelectorAll(".medn-figure:has(script)")) {
  const [place, spec, lessons] = [".medn-moves", "script", ".medn-lessons"].map((each) => figure.querySelector(each));
  const model = new StaticModel(JSON.parse(spec.textContent), place.querySelector("img"));
  place.replaceChildren();
  render({ model, el: place });
  for (const button of lessons?.querySelectorAll("button") ?? []) {
    button.addEventListener("click", async () => {
      const positions = JSON.parse(button.value);
      button.nextElementSibling.hidden = false;
      model.show({ ...(await model.frame(positions)), positions, view: "", serial: 0 });
    });
  }
  lessons?.removeAttribute("hidden"); // without this script there is nothing to press
  const near = ([{ isIntersecting }]) => isIntersecting && model.load().catch(() => {});
  new IntersectionObserver(near, { rootMargin: "800px" }).observe(place);
}
