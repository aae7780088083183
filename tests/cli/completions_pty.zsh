# Types at a shell on a terminal of its own and prints what the line became.
# usage: zsh -f completions_pty.zsh bash|zsh FILE < LINES
# FILE is the completion's. Each of LINES is typed, then TAB; one that begins with * has all
# candidates inserted instead, and white space at its end left out.
zmodload zsh/zpty
setopt extended_glob

set_up_bash=(
  'show() { printf "<<%s>>\n" "$READLINE_LINE"; }'
  "bind -x '\"\C-o\": show'"
  "source $2"
)
set_up_zsh=(
  "fpath=(${2:h} \$fpath); autoload -Uz compinit && compinit -D -u"
  "show() { print -r -- \"<<\$BUFFER>>\" }; zle -N show; bindkey '^O' show"
  "zle -C all complete-word _generic; bindkey '^[*' all"
  "zstyle ':completion:all:*' completer _all_matches _complete; zstyle ':completion:all:*' insert yes"
)

# Waits for a text; what came before the end of it is in $seen.
await() { zpty -r -m child seen "*$1*" }

if [[ $1 == bash ]]; then
  zpty -b child "bash --norc --noprofile -i"
  set_up=("${set_up_bash[@]}")
else
  zpty -b child "zsh -f -i"
  set_up=("${set_up_zsh[@]}")
fi
for command in "${set_up[@]}"; do
  zpty -w child "$command"
done
zpty -w child 'echo rea""dy'
await ready
while IFS= read -r line; do
  if [[ $line == '*'* ]]; then
    zpty -w -n child "${line#'*'}"$'\e*\C-o'
    await '<<*>>'
    became=${${seen##*'<<'}%'>>'*}
    print -r -- "${became%% ##}"
  else
    zpty -w -n child "$line"$'\t\C-o'
    await '<<*>>'
    print -r -- "${${seen##*'<<'}%'>>'*}"
  fi
  zpty -w -n child $'\C-u'
done
zpty -d child
