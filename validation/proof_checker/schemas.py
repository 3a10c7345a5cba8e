"""The rules with a fixed number of vectors: inequalities from textbooks.

Name -> hypotheses, arguments, what the rule says, side conditions.
"""

SCHEMAS = {
    "polarization": ["", "U V", "inner(U, V) == (sq(U) + sq(V) - sq(U - V))/2"],
    "mean_of": ["", "U", "root(mean(U)) <= root(U)"],
    "dev_of": ["", "U", "root(U - mean(U)) <= root(U)"],
    "steps_mean": ["", "U", "root(sum(U, steps(U))) <= steps(U)*mean_k(root(U))"],
    "unweigh": ["push-sum weights", "U", "root(pushed(U)) <= root(U)/delta"],
    "weigh": ["push-sum weights", "U", "root(U) <= root_w(U)/delta**(1/2)"],
    "bounded": ["bounded", "", "root(g) <= B*one('gradient')"],
    "second_moment": ["moment", "", "root(g + n + e) <= S2**(1/2)*one('moment')"],
    "variance": [
        *("variance", "U", "root(U) <= noise_size(U)*one('noise')"),
        "U == block(block_of(U), n)",
    ],
    "sam": ["sample smooth", "U", "root(U) <= sam_size()*one('sam')", "is_sam(U)"],
    "clients": [
        *("unbiased, independent", "V", "sq(mean(V)) == sq(V)/m"),
        "noise(V), not_mean(V)",
    ],
    "pythagoras": [
        *("unbiased", "U V", "sq(U + V) == sq(U) + sq(V)"),
        "noise(V), known(U, 'k', block_of(V))",
    ],
    "unbiased": [
        *("unbiased", "U V M", "inner(U, sum(V, steps(V), M)) == 0"),
        "noise(V), known(U, '', block_of(V))",
    ],
    "lipschitz": [
        *("smooth", "U V B"),
        "root(grad(U, B) - grad(V, B)) <= steepness(U, V, B)*root(U - V)",
    ],
    "descent": [
        *("smooth", "U D"),
        "value(U + D) - value(U) <= inner(slope(U, D), D) + smoothness(D)/2*sq(D)",
    ],
    "diversity": [
        *("diversity", "U"),
        "root(grad(U) - full(U)) <= diversity_size()*one('diversity')",
        "diversity_at(U)",
    ],
    "gossip": [
        *(
            "contraction",
            "",
            "next_t(root(shared_dev())) <= lam*root(sent - mean(sent))",
        ),
        "gossips == 1",
    ],
    "gossip_steps": [
        *("contraction, fresh draws", ""),
        "next_t(root(shared_dev())) <= lam**gossips*root(sent - mean(sent))",
        "gossips == Q",
    ],
    "push": [
        *("push-sum weights, push-sum", ""),
        "next_t(root_w(x - xbar)) <= q*root_w(x - xbar) + q/delta**(1/2)*root(moved())",
        "gossips == 1",
    ],
    "common_start": ["common start", "", "start_t(root(x - mean(x))) <= 0"],
    "any_start": [
        "",
        "",
        "start_t(root(shared_dev())) <= x0_spread**(1/2)*one('start')",
    ],
    "any_push_start": [
        *("", "", "start_t(root_w(x - xbar)) <= x0_spread**(1/2)*one('start')"),
    ],
    "dual_start": ["", "U", "start_t(root(U)) <= 0", "dual_part(U)"],
    "next_dual": ["", "U", "next_t(root(U)) == root(following(U))", "dual_part(U)"],
}
