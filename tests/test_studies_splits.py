"""What trains, what tests and what constants are chosen on, in all studies."""

import pytest

from medn_edu.datasets import make_chain_crf
from medn_edu.studies.kit import splits
from medn_edu.studies.kit.specs import FitSpec
from medn_edu.studies.registry import STUDIES

SIZES = {
    "ocr-100": (100, 900), "ocr-250": (250, 2250), "ocr-one": (626, 6251), "ocr-rest": (6251, 626),
    "iid-10-30": (30, 770), "iid-30-150": (150, 650),
    "chains-correlated": (100, 900),
}  # fmt: skip

pytestmark = pytest.mark.usefixtures("require_ocr", "small_chains")


@pytest.fixture
def small_chains(monkeypatch):
    """The same studies on shorter chains that an exact sampler has labelled."""

    def make(n_samples=1000, **options):
        return make_chain_crf(n_samples, **{**options, "length": 2, "sampler": "exact"})

    monkeypatch.setattr(splits, "make_chain_crf", make)
    cached = (splits.iid_chains, splits.correlated_chains)
    for function in cached:
        function.cache_clear()
    yield
    for function in cached:
        function.cache_clear()


def identity(samples):
    return {hash(sample.tobytes()) for sample in samples}


# Product records may be alike, and phrases repeat; own tests look at which of them are taken.
_OWN = ("web-extraction", "sentiment")
_TRAIN = [name for name, study in STUDIES.items() if study.trains and name not in _OWN]


@pytest.mark.parametrize("name", _TRAIN)
def test_no_sample_tests_that_trained_or_chose(name):
    study = STUDIES[name]
    fits = sorted(study.fits("paper", 0), key=lambda spec: spec.fold)  # as chains are kept
    specs = {spec.key: spec for spec in fits}
    trains, tests, waiting = {}, {}, {}
    for spec in specs.values():
        chooses = bool(getattr(study.fit.build(spec), "blocks", None))  # and has samples for it
        place = spec.data, spec.fold, chooses
        if place not in trains:
            split = study.fit.split(spec)
            trains[place], tests[place] = identity(split.X_train), identity(split.X_test)
            sizes = len(split.X_train), len(split.X_test)
            if spec.data.startswith("key"):  # 25 bits flipped at random may be flipped alike
                sizes = len(trains[place]), len(tests[place])
            assert (len(trains[place]), len(tests[place])) == sizes
            assert chooses or SIZES.get(spec.data, sizes) == sizes
            assert not trains[place] & tests[place]
        if spec.after:
            by = specs[spec.after]
            first = by.data, by.fold, bool(getattr(study.fit.build(by), "blocks", None))
            waiting.setdefault(first, set()).add(place)
    for first, places in waiting.items():
        for place in places:
            assert not trains[first] & tests[place]
    for data in {data for data, *_ in trains} - {"ocr-seen", "ocr-unseen", "key"}:
        if data.startswith("chorales"):  # all but one part train
            continue
        folds = [train for (of, _, chooses), train in trains.items() if of == data and not chooses]
        assert len(set().union(*folds)) == sum(map(len, folds)), "each trains once"


@pytest.mark.parametrize(
    ("name", "small", "large"),
    [("ocr", "ocr-100", "ocr-250"), ("synthetic-iid", "iid-30-30", "iid-30-150")],
)
def test_training_sets_are_nested_and_those_of_another_seed_are_others(name, small, large):
    some, more, other = (
        identity(STUDIES[name].fit.split(FitSpec(data, 3, "M3N", seed=seed)).X_train)
        for data, seed in ((small, 0), (large, 0), (small, 1))
    )
    assert some < more
    assert len(other) == len(some)
    assert other != some
