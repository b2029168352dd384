"""Animations as files: pictures joined into an endless GIF or an MP4 film.

A GIF plays wherever pictures are shown.  An MP4 has all colours and can be paused.  The library ``av``
compresses it (``pip install 'medn_edu[lab]'``), in one thread and without dates, so the same pictures
give the same film up to a few bytes.
"""

import io
import pathlib
from collections.abc import Sequence
from fractions import Fraction
from operator import sub
from typing import Any

from PIL import Image

from medn_edu.files import write_atomically

_MP4 = {"preset": "veryslow", "crf": "20", "tune": "animation", "threads": "1"}


def save_film(path: str | pathlib.Path, pngs: Sequence[bytes], per_second: float) -> pathlib.Path:
    """Save PNG pictures of one size as ``.gif`` or ``.mp4``, as the path's ending says."""
    path = pathlib.Path(path)
    makers = {".gif": gif, ".mp4": mp4}
    if path.suffix not in makers:
        raise ValueError(f"cannot save {path.name}; expected a name that ends in .gif or .mp4.")
    return write_atomically(path, makers[path.suffix](pngs, per_second))


def gif(pngs: Sequence[bytes], per_second: float, *, alike: int = 10) -> bytes:
    """Join pictures into an endless animation with one palette, which keeps still parts still.

    Equal pictures in a row become one picture that is shown for longer.  Colours that differ by at most
    ``alike`` in red, green and blue become one, because fewer colours make the file smaller.
    Neighbouring greys of handwriting differ by 13.  The format measures time in hundredths of a second.
    """
    pictures = [Image.open(io.BytesIO(png)).convert("RGB") for png in pngs]
    chosen = pictures[:: max(1, len(pictures) // 6)]
    sample = Image.new("RGB", (chosen[0].width, chosen[0].height * len(chosen)))
    for i, picture in enumerate(chosen):
        sample.paste(picture, (0, i * picture.height))
    palette = Image.new("P", (1, 1))
    palette.putpalette(_palette(sample, alike))
    flat = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    buffer = io.BytesIO()
    flat[0].save(
        buffer,
        "gif",
        save_all=True,
        append_images=flat[1:],
        duration=round(1000 / per_second),
        loop=0,
        optimize=True,
    )
    return buffer.getvalue()


def _palette(sample: Image.Image, alike: int) -> list[int]:
    """Return 256 colours, the most common first, no two alike.

    Exact and apart, so that white stays white and a rare colour, such as that of a framed
    letter, is not mixed with another.
    """
    chosen: list[tuple[int, ...]] = []
    counted: list[Any] = sample.getcolors(1 << 24) or []
    for _, colour in sorted(counted, reverse=True):
        if all(max(map(abs, map(sub, colour, other))) > alike for other in chosen):
            chosen.append(colour)
        if len(chosen) == 256:
            break
    return [part for colour in chosen for part in colour]


def mp4(pngs: Sequence[bytes], per_second: float) -> bytes:
    """Join pictures into a film that browsers and slides play (H.264, 4:2:0).

    The format needs an even width and height, so a white line is added to an odd one.
    """
    try:
        import av
    except ImportError:
        raise ValueError(
            "saving .mp4 needs the library av, which is not installed; run pip install "
            "'medn_edu[lab]', or save a .gif instead."
        ) from None
    pictures = [_even(Image.open(io.BytesIO(png)).convert("RGB")) for png in pngs]
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mp4", options={"fflags": "+bitexact"}) as film:
        stream = film.add_stream("libx264", Fraction(per_second).limit_denominator(1000), _MP4)
        stream.width, stream.height = pictures[0].size
        stream.pix_fmt = "yuv420p"
        for picture in pictures:
            film.mux(stream.encode(av.VideoFrame.from_image(picture)))
        film.mux(stream.encode())
    return buffer.getvalue()


def _even(picture: Image.Image) -> Image.Image:
    size = picture.width + picture.width % 2, picture.height + picture.height % 2
    larger = Image.new("RGB", size, "white")
    larger.paste(picture)
    return larger
