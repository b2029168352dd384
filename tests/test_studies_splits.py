"""What trains, what tests and what constants are chosen on, in all studies."""

import pytest

from medn_edu.datasets import make_chain_crf
from medn_edu.studies.kit import splits
from medn_edu.studies.kit.specs import FitSpec
from medn_edu.studies.registry import STUDIES

SIZES = {
    "ocr-100": (100, 900), "ocr-250": (250, 2250), "ocr-one": (626, 6251), "ocr-rest": (6251, 626),
    "iid-10-30": (30, 970), "iid-30-150": (150, 850), "correlated-7-10": (1000, 0),
    "correlated-20-3": (50, 950), "chains-correlated": (100, 900),
}  # fmt: skip

pytestmark = pytest.mark.usefixtures("require_ocr", "small_chains")


@pytest.fixture
def small_chains(monkeypatch):
    """The same studies on shorter chains that an exact sampler has labelled."""

    def make(n_samples=1000, **options):
        return make_chain_crf(n_samples, length=2, sampler="exact", **options)

    monkeypatch.setattr(splits, "make_chain_crf", make)
    cached = (splits.iid_chains, splits.correlated_chains)
    for function in cached:
        function.cache_clear()
    yield
    for function in cached:
        function.cache_clear()


def identity(samples):
    return {hash(sample.tobytes()) for sample in samples}


@pytest.mark.parametrize("name", [name for name, study in STUDIES.items() if study.trains])
def test_no_sample_tests_that_trained_or_chose(name):
    study = STUDIES[name]
    fits = sorted(study.fits("paper", 0), key=lambda spec: spec.fold)  # as chains are kept
    specs = {spec.key: spec for spec in fits}
    trains, tests, waiting = {}, {}, {}
    for spec in specs.values():
        place = spec.data, spec.fold
        if place not in trains:
            split = study.fit.split(spec)
            trains[place], tests[place] = identity(split.X_train), identity(split.X_test)
            sizes = len(split.X_train), len(split.X_test)
            if spec.data.startswith("key"):  # 25 bits flipped at random may be flipped alike
                sizes = len(trains[place]), len(tests[place])
            assert (len(trains[place]), len(tests[place])) == SIZES.get(spec.data, sizes) == sizes
            assert not trains[place] & tests[place]
        if spec.after:
            by = specs[spec.after]
            waiting.setdefault((by.data, by.fold), set()).add(place)
    assert not any(tests[place] for place in waiting)
    for place in (place for place, test in tests.items() if not test):
        for other in waiting.get(place, trains):
            assert not trains[place] & tests[other]
    for data in {data for data, _ in trains} - {
        "ocr-seen",
        "ocr-unseen",
        "ocr-unseen-choosing",
        "key",
    }:
        folds = [train for (of, _), train in trains.items() if of == data]
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
