# shellcheck shell=bash
# A text with everything that is hard to cut into pieces: long runs, runs of spaces, characters of 1 to 4 bytes at the
# cut.
hard_text() {
    local i k run
    for i in $(seq 60); do echo "line $i: some wörds, \"quoted\" & again  and — 日本 again 😀 $((i * i * i))"; done
    for k in 122 124 125 126 127 128 129 130; do
        run=$(printf '%*s' $k '')
        printf '%sé日 %s😀x\n%s!%sb' "${run// /a}" "${run// /b}" "${run// /9}" "$run"
        printf ' %s日日 %s\t \n' "${run// /c}" "${run// /?}"
    done
}

data_of() { # data_of KIND: tt train options for a run with this tokenizer: hard text, or the language for words
    case $1 in
    words) echo "--data builtin" ;;
    bpe) echo "--data text.txt --tokenizer bpe --vocab-size 600" ;;
    *) echo "--data text.txt --tokenizer $1" ;;
    esac
}
