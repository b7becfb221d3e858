"""What every chart and control means: one paragraph each, for a student. The pages and the glossary both read it here."""

from dataclasses import dataclass

__all__ = ["GROUPS", "TOPICS", "Topic"]


@dataclass(frozen=True)
class Topic:
    """A title and one paragraph of Markdown: what it is, how it is computed here, what to look for."""

    title: str
    text: str


TOPICS: dict[str, Topic] = {
    "signal": Topic(
        "Signal through the layers",
        "For each hidden layer, the variance of its pre-activations $a_l = W_l^\\top h_{l-1} + b_l$ over the training "
        "rows, $\\frac1n \\sum_i (a_{il} - \\bar a_l)^2$, averaged over units; the band goes from the 10 to the 90 percent "
        "quantile across units, and repeats are shown by their median. A curve that falls means that rows look more and "
        "more alike to the deeper layers (the signal *vanishes*); one that rises drives units onto the flat parts of the "
        "activation. Look for a curve that neither dies nor explodes, on a log axis. A steady signal alone is no victory: "
        "one that fades gently may train best, and one held at 1 may overfit; the third chart decides. Where the true "
        "directions $B$ of a "
        "model are known, *True directions* shows instead how much of the indices $B^\\top x$ a linear fit on the layer's "
        "pre-activations still reads ($R^2$): 1 in the first layer where $B$ lies in the span of its weights.",
    ),
    "travel": Topic(
        "Other signals",
        "*Lengths*: the mean square of a pre-activation, theory's $q$; the variance over the data is what of it differs "
        "between inputs, $q - q_{ab}$. *Gradients*: the variance over rows of $\\partial L_i/\\partial a_l$, which should "
        "neither vanish nor explode on its way back from the last layer to the first. *Weight gradients*: "
        "$\\lVert\\partial L/\\partial W_l\\rVert$. *Linear probe*: how well a linear fit on a layer's output predicts the response "
        "of validation rows, as $R^2$ or, for classes, AUC: what the layer still knows. *Effective rank*: the exponential "
        "of the entropy of the activations' spectrum, the number of directions that they span. *Input correlation*: the mean "
        "of $h_a \\cdot h_b$ over pairs of inputs, over the mean of $|h_a|^2$; at 1 all inputs look alike. *Flat or dead units*: "
        "the share whose mean slope $|f'(a)|$ over the rows is below 5 % of the steepest slope of $f$: tanh units on their flat "
        "parts, relu units that are 0 for nearly every row.",
    ),
    "theory": Topic(
        "Theory",
        "Thin lines: what mean-field theory says of wide layers of such weights, with no network drawn. With "
        "$\\sigma_w^2/n_\\text{in}$ the variance of a weight, the length follows $q' = \\sigma_w^2\\,E f(\\sqrt q z)^2$ and the "
        "variance over the data is $q - q_{ab}$, for two inputs $a$ and $b$. SteinGLM removes the means, so its variance "
        "follows $v' = \\alpha^2\\operatorname{Var} f(\\sqrt v z)$. Of twenty units theory says what many networks do on average. "
        "SteinGLM's directions are not random: with relu and gelu they follow the rows of the largest signal, and its "
        "variance lies above the line, the more so the deeper.",
    ),
    "phases": Topic(
        "Order and chaos",
        "The length of a signal goes to a fixed point $q^*$. There $\\chi_1 = \\sigma_w^2\\,E f'(\\sqrt{q^*} z)^2$ is the factor by "
        "which one layer multiplies small differences between inputs, and mean square gradients on their way back. Below 1, "
        "the *ordered* phase, inputs become alike and gradients vanish; above 1, the *chaotic* phase, close inputs part and "
        "gradients explode; on the critical line a signal travels furthest (Schoenholz et al., 2017). A depth scale is the "
        "number of layers in which a deviation shrinks by the factor $e$.",
    ),
    "jacobian": Topic(
        "Singular values of the Jacobian",
        "The Jacobian $\\partial h/\\partial x = W_1 D_1 W_2 D_2 \\cdots$, $D_l$ the diagonal of the slopes $f'(a_l)$, of the last "
        "hidden layer with respect to the input, at training rows: its singular values say by how much a small difference "
        "is stretched, in each direction, on its way through. All alike is *dynamical isometry*. Square orthogonal layers, "
        "and SteinGLM's, which are $\\alpha$ times orthonormal, have it in their linear part, so that only $f'$ spreads the "
        "values; products of random matrices spread them more with every layer. Thin: theory's root mean square.",
    ),
    "sweep": Topic(
        "Sweep",
        "Each cell is an experiment: two settings are on the axes, all others are those of the side bar. *Variance of the "
        "last layer*: of a pre-activation over the training rows, the last point of the first chart on the page Compare. "
        "*χ₁ of the last layer*: $\\frac1k \\sum_j |w_j|^2\\,E f'(a_j)^2$, measured; by this factor the layer multiplies small "
        "differences between inputs, in mean square, so that below 1 they fade and above 1 they grow. *Initial loss* and *loss "
        "after training* are of the training rows; the *test metric* is that of the parameters with the best validation loss; "
        "*epochs to a target* counts to the first validation loss at or below the one at which the side bar has a network stop. "
        "Look for the border at which a signal begins to vanish, and whether the best test metric lies beside it. A click on "
        "a cell opens it.",
    ),
    "spectrum": Topic(
        "Eigenvalue spectrum",
        "The eigenvalues of the cross-moment $M = \\frac1n \\sum_i y_i\\,S_2(h_i)$ between a layer's input and the response "
        "(less its mean, but for the score *identity*), by rank of their magnitude, with their signs. Its eigenvectors are SteinGLM's weights. A few eigenvalues that "
        "stand out mean that the response depends on few directions, which the layer can find; a flat spectrum means that "
        "the second-order score sees nothing to choose by. Choose the layer with the slider, and the singular values of "
        "the weights or all layers beside it.",
    ),
    "learning": Topic(
        "Learning",
        "The loss by epoch: mean squared error of the response scaled to $[0, 1]$, or cross-entropy of the classes. Thick "
        "lines are training (the mean over the epoch's mini-batches, each before its step), thin ones validation; epoch 0 is "
        "before training. All networks see the same rows in the same order. Look at where a curve starts, how fast it "
        "falls, and whether validation turns up again while training still falls (overfitting). A network with a fitted "
        "output layer may lose ground in the first epoch: Adam's first steps are as long as the learning rate in every "
        "weight, however small the gradient, and take it off the fit. A smaller learning rate avoids that.",
    ),
    "data": Topic(
        "Data",
        "The paper's ten data sets, four of scikit-learn's, and synthetic multi-index models $y = g(B^\\top x)$ whose true "
        "directions $B$ are known. Rows with missing values are dropped (of your own table, as you choose), categories become one column a level, inputs are "
        "standardized on the training part, a regression response is scaled to $[0, 1]$. A fifth of the rows is for the "
        "test, a fifth of the rest for validation.",
    ),
    "model": Topic(
        "A multi-index model",
        "$y = f_1(u_1) + \\frac12 f_2(u_2) + \\frac14 f_3(u_3) + \\dots$, or the product of the $f_j(u_j)$, with indices $u = B^\\top x$ "
        "along orthonormal true directions $B$ that the seed draws. The noise is in units of the signal's standard "
        "deviation; two classes are drawn with log odds of standard deviation 3. Choose fewer units a layer (Width) than "
        "inputs to see which methods keep the directions. An odd link function, such as *linear* or *sine*, is invisible to the "
        "second-order score of normal inputs.",
    ),
    "distribution": Topic(
        "Distribution of the inputs",
        "Stein's identity assumes *normal* inputs. *Correlated*: normal with correlation $0.7^{|i-j|}$. *Skewed*: "
        "exponential. *Mixture*: three normal clusters. *Heavy-tailed*: Student's $t$ with five degrees of freedom. The more "
        "the inputs differ from normal, the less the cross-moment's eigenvectors need to be the true directions.",
    ),
    "columns": Topic(
        "What a column is",
        "*Numbers* and *booleans* are one input each, a *category* becomes one input a level. Dates, free text, columns that "
        "number the rows or never vary, and copies of other columns are left out: no network can learn from them as they "
        "stand. Units and signs of a currency are cut off; a few words among numbers count as missing, and are named.",
    ),
    "target": Topic(
        "Response",
        "The column that the networks are to predict. Two different values are two classes; texts, and whole numbers of at "
        "most ten values, are classes; other numbers are a regression. Rows without a response are dropped.",
    ),
    "missing": Topic(
        "Missing values",
        "Either every row that misses an input is dropped, or numbers are filled in with the column's median, booleans with "
        "the more frequent value, and categories get a level of their own, *(missing)*. Medians are of all rows, also those "
        "that are later held out.",
    ),
    "tails": Topic(
        "Heavy tails",
        "A column of kurtosis above 30: a few rows would have most of the weight in a second-order moment, which SteinGLM is "
        "made of. *Normal scores* replace each value by the normal quantile of its rank; the *signed logarithm* is "
        "$\\operatorname{sign}(x)\\,\\log(1 + |x| / \\operatorname{median}|x|)$.",
    ),
    "report": Topic(
        "Data report",
        "What was read, left out, merged, filled in or dropped, and why, in the order in which it was done. Rare levels of a "
        "category, below half a percent of the rows, are merged into *(other)*, since each level becomes an input.",
    ),
    "depth": Topic(
        "Depth",
        "The number of hidden layers $L$. The paper takes 10, 20, 30 and 40. Whatever a layer does to the signal, it does "
        "$L$ times: small faults of an initialization show at depth.",
    ),
    "activation": Topic(
        "Activation",
        "The function $f$ in $h_l = f(a_l)$. The paper takes tanh and sigmoid; relu, gelu, silu, elu and selu are what it "
        "leaves to future work. What matters for the start is the slope $f'(0)$ and how soon $f$ flattens.",
    ),
    "alpha": Topic(
        "Scaling alpha",
        "SteinGLM's weights are $W_l = \\alpha V$ with orthonormal $V$. **1/f′(0)** is the paper's choice: to first order, "
        "$f(a) \\approx f(0) + f'(0)\\,a$, it passes the signal on unchanged (tanh 1, sigmoid 4). **auto** chooses it for each "
        "layer so that the mean pre-activation variance is 1; it is also taken where $f'(0)$ does not exist (relu, selu). "
        "A larger number keeps the signal alive at depth; too large a one makes the network memorize.",
    ),
    "methods": Topic(
        "Methods",
        "**SteinGLM** takes the leading eigenvectors of $M$, layer after layer, with biases that center the pre-activations "
        "and a generalized linear model as output layer. **Glorot normal** draws weights of variance "
        "$2/(n_\\text{in}+n_\\text{out})$, **He normal** of $2/n_\\text{in}$, both truncated at two standard deviations; "
        "**Orthogonal** takes a random orthogonal matrix. Their biases are zero. Four rivals learn from the data, too: **LSUV** "
        "scales orthogonal layers so that their output has variance 1 over the data; **SWIM** makes each unit of a pair of data "
        "points between which the response is steep; **PCA** is SteinGLM with principal components in the place of its "
        "directions, so that it does not know the response; **SteinGLM + LSUV** has SteinGLM's directions and variance 1 in "
        "every unit.",
    ),
    "score": Topic(
        "Score",
        "How the second-order score $S_2(h)$ of a layer's input is estimated. **identity** is the paper's formula "
        "$y\\,(hh^\\top - I)$ verbatim, **centered** the same with $y$ centered. **standardized** standardizes $h$, too, as "
        "the assumption $h \\sim N(0, I)$ asks. **gaussian** uses the full covariance: $P\\,C\\,P$ with $P$ its inverse. With "
        "correlated inputs the identity score mixes in principal components; see the spectrum. For inputs that are not "
        "normal: **residual** takes a linear fit out of the response first, **mixed** puts its direction, which the first "
        "order of Stein's identity sees, beside those of the second; **mixture** learns a Gaussian mixture, and **matched** "
        "a density by score matching, whose $S_2$ is then taken. The last four pass over the rows more than once.",
    ),
    "calibrate": Topic(
        "Bias calibration",
        "SteinGLM's biases are $b_l = -\\frac1n \\sum_i W_l^\\top h_{l-1,i}$, so that every pre-activation has mean 0 and falls "
        "where $f$ is steepest. Without it they are zero, as the baselines' are. What $f$ puts into the mean of its outputs, "
        "as sigmoid does with its values around 0.5, is then passed on, and drives the layers behind onto the flat parts of $f$.",
    ),
    "output": Topic(
        "GLM output layer",
        "Which methods get their output layer from ridge or logistic regression on the last hidden layer, with a penalty "
        "chosen on the validation rows. *As published*, SteinGLM has it (and with it SWIM, PCA and SteinGLM + LSUV); *for all* and *for none* are the paper's "
        "ablation. "
        "Orthogonal with a GLM output is the honest control: it tells what Stein's directions add.",
    ),
    "width": Topic(
        "Width",
        "Units of each hidden layer; empty for $\\min(d, 20)$ with $d$ features, as in the paper. Beyond $d$ units there are "
        "no more eigenvectors, and SteinGLM fills up with a random orthogonal frame.",
    ),
    "rows": Topic(
        "Training rows",
        "How many training rows are used, the first of each split, which is in random order; empty for all. The inputs are "
        "standardized by these rows; validation and test rows stay the same. With few rows the cross-moment is noisy, and "
        "SteinGLM's directions with it.",
    ),
    "repeats": Topic(
        "Repeats",
        "Each repeat has its own split of the data, its own draws and its own order of mini-batches; the paper takes 10. "
        "The table then shows mean and standard deviation.",
    ),
    "seed": Topic(
        "Seed",
        "Determines everything random: the split, the drawn weights, the order of the mini-batches. The same seed gives the "
        "same run, bit for bit on the same machine.",
    ),
    "epochs": Topic(
        "Epochs",
        "Passes over the training rows; the paper takes 200 with tables and 20 with images. The parameters of the best validation loss are kept.",
    ),
    "batch_size": Topic(
        "Batch size",
        "Rows of a mini-batch; empty for the paper's choice, 500 but not more than a fifth of the training rows; with images it is 128.",
    ),
    "learning_rate": Topic("Learning rate", "The step size of the Adam optimizer; the paper takes 0.001."),
    "stop": Topic(
        "Stop rules",
        "A network stops by itself when its validation loss has come down to the target, when it has not improved for so "
        "many epochs, or when the run has trained for so many seconds. Its curve ends there; the others go on.",
    ),
    "digits": Topic(
        "Digits",
        "Two digits of MNIST, which a network learns to tell apart; the paper takes 3 and 5, 4 and 9, 7 and 9, 5 and 8. The "
        "network is the paper's: three blocks of three $3 \\times 3$ convolutions (9, 18 and 36 filters) and a max pooling, "
        "a dense layer of 20 units, one output, tanh everywhere.",
    ),
    "complete": Topic(
        "All of MNIST",
        "Without it, a part that comes with the library: of each digit 500 images to learn from and 100 for the test. All of "
        "MNIST has some 6,000 and 1,000 of each, and takes ten times as long. It is an archive of 11 MB: put *mnist.npz* into "
        "the folder that the environment variable *STEINGLM_DATA* names, or run "
        "`python -c 'from steinglm.datasets import mnist; mnist.download()'` where there is a network. A fifth of the "
        "images to learn from is for validation.",
    ),
    "max_patches": Topic(
        "Patches of an image",
        "A convolution sees an image as overlapping patches, $28 \\times 28 = 784$ of them in the first layer, each with the "
        "response of its image; SteinGLM takes the cross-moment over patches. Neighbours are much alike, so a random part "
        "of them does nearly as well in less time. 784 takes all, as the paper does.",
    ),
    "l2": Topic(
        "Penalty of the weights",
        "The factor of the sum of squared weights that is added to the loss in training; the curves show the loss without it.",
    ),
    "filters": Topic(
        "Filters of the first layer",
        "The nine $3 \\times 3$ filters that slide over the image, before training and, after it, at the best validation "
        "loss. Orange is positive, blue negative, the stronger the larger; one scale for all pictures. SteinGLM's are "
        "eigenvectors of the cross-moment of patches and response: look for edges, strokes and corners in them already before "
        "training, and for how much training changes them.",
    ),
    "along": Topic(
        "Along training",
        "The networks as they were after some of the epochs. *Movement of the weights*: $\\lVert W_l - W_l(0)\\rVert / "
        "\\lVert W_l(0)\\rVert$, how far a layer has moved from its start. Where it is small, the network still works with the "
        "directions that it was given, and the output layer does the learning. *Weight gradients* and *Gradients* are those "
        "of the first chart, over at most 256 training rows, now along training: a layer whose gradients vanish does not move.",
    ),
    "errors": Topic(
        "Digits that each network gets wrong",
        "The test images whose class the network gets wrong at the best validation loss, the surest errors first: what the "
        "digit was taken for, and the probability that the network gave to that. Images that all networks get wrong tell "
        "about the images; those of one network tell about the network.",
    ),
    "table": Topic(
        "The table",
        "The test metric (RMSE, lower is better, or AUC, higher is better; with more than two classes, the mean over classes of the AUC of each against the rest) and, for classes, the share that is right, of the parameters with the best validation loss; "
        "the epoch of that loss; seconds to initialize, and to train all networks together; and the first epoch at which "
        "the training loss is down to the final training loss of the best baseline.",
    ),
    "ranks": Topic(
        "Ranks and tests",
        "In each cell (a data set at a depth with an activation) the entries are ranked by their mean test metric, 1 the best; "
        "a *mean rank* is over cells. *Friedman's test* asks whether all entries could be alike. *Nemenyi's critical "
        "difference* is the gap in mean rank from which on two entries differ at the level 0.05, whichever two of all pairs "
        "one looks at (Demšar, 2006). *Wilcoxon's signed-rank test* compares two entries by the signs and sizes of their "
        "differences over data sets; *Holm's correction* makes its p larger where several entries are tested.",
    ),
}

GROUPS: dict[str, tuple[str, ...]] = {
    "Charts": ("signal", "travel", "theory", "spectrum", "learning", "along", "jacobian", "phases", "sweep"),
    "Settings": (
        "depth", "activation", "alpha", "methods", "score", "calibrate", "output", "width", "rows", "repeats", "seed",
    ),
    "Training": ("epochs", "batch_size", "learning_rate", "stop", "table", "ranks"),
    "Data": ("data", "columns", "target", "missing", "tails", "report", "model", "distribution"),
    "Images": ("digits", "complete", "max_patches", "l2", "filters", "errors"),
}  # fmt: skip
