# Completions of looseleaf for bash. The program itself says what may come next.
_looseleaf() {
  local program=${1/#\~\//$HOME/} typed=() rest=${COMP_LINE:0:COMP_POINT} space word kind lead quote i
  # COMP_WORDS is cut at every = < and >: words with nothing between them belong together.
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    space=${rest%%[![:space:]]*}
    rest=${rest#"$space"}
    word=${COMP_WORDS[i]}
    ((i < COMP_CWORD)) || word=$rest
    if ((i == 0)) || [ -n "$space" ]; then
      typed+=("$word")
    else
      typed[${#typed[@]} - 1]+=$word
    fi
    rest=${rest#"$word"}
  done
  COMPREPLY=()
  if ((COMP_CWORD > 0)) && [[ ${COMP_WORDS[COMP_CWORD - 1]} == *[\<\>] || ${COMP_WORDS[COMP_CWORD]} == *[\<\>] ]]; then
    compopt -o default
    return
  fi
  word=${typed[${#typed[@]} - 1]}
  [[ $word != [\'\"]* ]] || quote=yes
  typed=("${typed[@]#[\'\"]}")
  typed=("${typed[@]%[\'\"]}")
  typed=("${typed[@]//\\/}")
  typed=("${typed[@]/#\~\//$HOME/}")
  word=${typed[${#typed[@]} - 1]}
  lead=${word%"$2"}  # readline replaces only what follows the last =
  {
    IFS=$'\t' read -r kind _
    while IFS=$'\t' read -r rest _; do
      if [[ $rest == "$word"* ]]; then
        rest=${rest#"$lead"}
        [ -n "$quote" ] || printf -v rest %q "$rest"
        COMPREPLY+=("$rest")
      fi
    done
  } < <("$program" __complete "${typed[@]:1}" 2> /dev/null)
  case $kind in
    files) compopt -o default ;;
    folders) compopt -o dirnames ;;
    *)
      compopt -o nosort 2> /dev/null  # since bash 4.4
      [[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace
      ;;
  esac
}
complete -F _looseleaf looseleaf
