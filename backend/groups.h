/* The groups of operations in plans and profiles. */
#ifndef TT_GROUPS_H
#define TT_GROUPS_H

#define TT_GROUPS(X)                                                                               \
    X(EMBEDDING, "embedding")                                                                      \
    X(QKV, "qkv_projection")                                                                       \
    X(ROPE, "rope_embedding")                                                                      \
    X(SCORES, "attention_scores")                                                                  \
    X(SOFTMAX, "attention_softmax")                                                                \
    X(ATTENTION, "attention_output")                                                               \
    X(NORM, "rms_norm")                                                                            \
    X(RESIDUAL, "residual")                                                                        \
    X(GATE_UP, "swiglu_gate_up")                                                                   \
    X(ACTIVATION, "swiglu_activation")                                                             \
    X(DOWN, "swiglu_down")                                                                         \
    X(LOSS, "loss_calculation")                                                                    \
    X(CLIP, "gradient_clip")                                                                       \
    X(OPTIMIZER, "optimizer")                                                                      \
    X(COMMUNICATION, "communication")                                                              \
    X(CONTROL, "control")

enum tt_group {
#define X(id, name) TT_G_##id,
    TT_GROUPS(X)
#undef X
    TT_GROUP_COUNT
};

#endif
