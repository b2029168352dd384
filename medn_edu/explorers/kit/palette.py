"""The one palette, ``palette.BLUE`` and so on; the colours of text are in the style."""

# The palette: Okabe and Ito's colours, which people with any colour vision tell apart (yellow left
# out: too pale on white), and four more for figures with many series.
BLUE, SKY, GREEN = "#0072B2", "#56B4E9", "#009E73"
ORANGE, VERMILION, PINK = "#E69F00", "#D55E00", "#CC79A7"
PURPLE, BROWN, SLATE, INDIGO = "#8A6FB0", "#A05A2C", "#5D6B78", "#33348E"
ORANGE_TEXT, GREEN_TEXT = "#8A5A00", "#00664B"  # dark enough to be read
GREY, SILVER, PALE_GREY, FAINT_GREY = "#A9B1B9", "#B9C2CA", "#C3CAD1", "#D5DADF"
HAIRLINE, SHADE = "#E3E7EB", "#EDEFF1"  # of grids; between two curves
