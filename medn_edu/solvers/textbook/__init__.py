"""Other solvers from the literature, to study and compare.  Models use them only on request.

The solvers of M3N all reach the same optimum as `medn_edu.solvers.block_frank_wolfe`:

* `cutting_plane`, `one_slack_cutting_plane`: only violated margins are enforced.
* `exponentiated_gradient`, `block_exponentiated_gradient`: multiplicative steps on the dual variables.
* `extragradient`: a game between weights and dual variables.
* `smo`: steps between two labellings at a time, on marginals of the dual variables.
* `subgradient`, `online_subgradient`: steps on the primal, with a dual point for free.

Three solvers of L1-M3N:

* `projected_subgradient`: steps within a ball.
* `l1_cutting_plane`: linear programs over the margins that are violated.
* `adaptive_m3n`: M3N with variances that adapt.

And two others:

* `variational_laplace`: Algorithm 1 of MEDN, a bound for the Laplace prior.
* `owlqn`: conditional random fields with an L1 norm, one orthant at a time.

``m3n_solvers.py`` lists the solvers of M3N by name.  All are imported from `medn_edu.solvers`.
"""
