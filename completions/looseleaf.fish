# Completions of looseleaf for fish. The program itself says what may come next.
function __looseleaf_complete
    set -l typed (commandline -opc)
    set -l current (string trim --left --chars '\'"' -- (commandline -ct))
    set -l program (string replace --regex '^~/' "$HOME/" -- $typed[1])
    set -e typed[1]
    set -l lines (command $program __complete $typed "$current" 2>/dev/null)
    set -l head (string split --max 1 \t -- $lines[1])
    set -e lines[1]
    switch "$head[1]"
        case files
            printf '%s\n' $head[2](__fish_complete_path (string replace -- "$head[2]" '' "$current"))
        case folders
            printf '%s\n' $head[2](__fish_complete_directories (string replace -- "$head[2]" '' "$current"))
        case words
            printf '%s\n' $lines
    end
end
complete --command looseleaf --no-files --keep-order --arguments '(__looseleaf_complete)'
