"""Estimators: structured models with scikit-learn's interface.

Every model scores a labelling ``y`` of a sample ``x`` by ``F(x, y; w) = w . f(x, y)``.  The joint
feature vector ``f`` sums the features of the nodes for each label, and counts the transitions along the
edges.  All models predict ``argmax_y F``.  They differ in how they choose ``w``:

======================  =====================================================================
`M3N`                   maximum margin Markov network: ``|w|^2 / 2`` (or an elastic net)
                        ``+ C sum_i xi_i``, with the
                        largest violation
                        ``xi_i = max_y [loss_i(y) - w . (f(x_i, y_i) - f(x_i, y))]``
`MEDN`                  maximum entropy discrimination: the same with any prior in place of
                        ``|w|^2 / 2``, a posterior distribution over weights, and other slacks
`LaplaceMEDN`           MEDN with a Laplace prior, exact or by the papers' variational method
`L1M3N`                 ``|w|_1 / 2 + C sum_i xi_i``, which selects features
`CRF`                   conditional random field: ``-sum_i log p(y_i | x_i; w)``, plus
                        ``lam |w|^2 / 2``, ``lam |w|_1``, both or nothing
`EpsilonMarkovNetwork`  from M3N to the CRF: M3N with ``epsilon log sum_y exp(. / epsilon)`` in place
                        of ``max_y``; at ``epsilon = 1`` and without the loss it is the CRF
======================  =====================================================================

If the nodes of a sample form a chain, the sample is an array with one row per node.  Otherwise it is a
`Forest` or a `Graph`.  These can also give edges types and features, and restrict the labels that a
node may have.  Estimators work with `sklearn.base.clone`, `GridSearchCV` and `cross_val_score`.  They
do not inherit from `ClassifierMixin`, because scikit-learn's checks then expect one label per sample.

To add a model, write a file here with a dataclass that inherits from `MarkovNetwork`.  Its fields are
the parameters, ``_problem`` returns what is minimised, and ``_iterates`` returns the solver.  A model
with a prior and a slack inherits from ``PriorNetwork`` and needs only ``_prior`` and ``_slack``.
``epsilon.py`` and ``medn.py`` are examples, and ``base.py`` says what `MarkovNetwork.fit` does with
these methods.  Then add the model's name here and in ``medn_edu/__init__.py``.  Add it to
``loading.py`` too, so that a saved model can be loaded.
"""

from medn_edu.estimators.base import MarkovNetwork
from medn_edu.estimators.crf import CRF
from medn_edu.estimators.epsilon import EpsilonMarkovNetwork
from medn_edu.estimators.l1m3n import L1M3N
from medn_edu.estimators.loading import load_model, save_model
from medn_edu.estimators.m3n import M3N
from medn_edu.estimators.medn import MEDN, LaplaceMEDN

__all__ = [
    "CRF",
    "L1M3N",
    "M3N",
    "MEDN",
    "EpsilonMarkovNetwork",
    "LaplaceMEDN",
    "MarkovNetwork",
    "load_model",
    "save_model",
]
