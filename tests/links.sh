# broken_links FILE: the links of a Markdown file that lead to no file, a line each. To be sourced.
broken_links() {
    local file=$1 target path
    grep -oE '\]\((<[^>]+>|[^)]+)\)' "$file" | sed 's/^](//; s/)$//; s/^<//; s/>$//' | while IFS= read -r target; do
        case $target in
        https://* | '#'*) continue ;;
        /*) path=${target%%#*} ;;
        *) path=$(dirname "$file")/${target%%#*} ;;
        esac
        [ -e "$path" ] || echo "$file links to $target, which is not there"
    done
}
