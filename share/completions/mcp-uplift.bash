# bash completion of mcp-uplift, made of its tables of options by `make pages`.

_mcp_uplift()
{
    # bash splits words at = and :, too. Here they are put together again, up to the cursor.
    local line=${COMP_LINE:0:COMP_POINT} part gap i
    local -a words=() starts=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        part=${COMP_WORDS[i]}
        gap=${line%%[![:space:]]*}
        line=${line#"$gap"}
        ((i < COMP_CWORD)) || part=$line
        line=${line#"$part"}
        if [[ $i -gt 0 && -z $gap ]]; then
            words[-1]+=$part
        else
            words+=("$part")
            starts+=("$i")
        fi
    done
    local last=$((${#words[@]} - 1))
    local word=${words[last]}
    # What readline will not replace: all before the last = or : of the word.
    [[ $part == [=:]* ]] && part=
    local kept=${word%"$part"}

    local options='--env --inherit-env --cwd --root --no-new-privs --protocol-version --hold-lane --parallel --cache-ttl-ms --max-line-bytes --max-buffer-bytes --max-in-flight --max-subscriptions --max-subscription-uris --mrtr-ttl-ms --request-timeout-ms --max-request-ms --initialize-timeout-ms --shutdown-grace-ms -q --quiet -v --verbose -h --help -V --version'
    local valued=' --env --cwd --root --protocol-version --parallel --cache-ttl-ms --max-line-bytes --max-buffer-bytes --max-in-flight --max-subscriptions --max-subscription-uris --mrtr-ttl-ms --request-timeout-ms --max-request-ms --initialize-timeout-ms --shutdown-grace-ms '
    local first=1
    if [[ $last -gt 1 && ${words[1]} == check ]]; then
        options='--env --inherit-env --cwd --only --skip --call --wrapped --native-only --timeout --start-timeout --budget --format --output --anchor --fail-on --accept-wrapped -v --verbose --no-color --list-rules -h --help'
        valued=' --env --cwd --only --skip --call --timeout --start-timeout --budget --format --output --anchor --fail-on '
        first=2
    fi

    # The option whose value is completed, what stands before the value in its word, and the value.
    local option= lead= value=
    for ((i = first; i < last; i++)); do
        case ${words[i]} in
            --)
                _mcp_uplift_command $((i + 1))
                return
                ;;
            -?*)
                if [[ $valued == *" ${words[i]} "* ]]; then
                    i=$((i + 1))
                    if ((i == last)); then
                        option=${words[i - 1]}
                        value=$word
                    fi
                fi
                ;;
            *)
                _mcp_uplift_command "$i"
                return
                ;;
        esac
    done
    if [[ -z $option && $word == --*=* ]]; then
        option=${word%%=*}
        lead=$option=
        value=${word#*=}
    fi

    COMPREPLY=()
    case $option in
        '')
            if [[ -z $word && $first -eq 1 && $last -eq 1 ]]; then
                options+=' check'
            elif [[ -n $word && $word != -* ]]; then
                _mcp_uplift_command "$last"
                if [[ $first -eq 1 && $last -eq 1 && check == "$word"* ]]; then
                    COMPREPLY+=(check)
                fi
                return
            fi
            mapfile -t COMPREPLY < <(compgen -W "$options --" -- "$word")
            ;;
        --anchor)
            compopt -o default
            ;;
        --cwd)
            compopt -o dirnames
            ;;
        --env)
            mapfile -t COMPREPLY < <(compgen -e -- "$value")
            ;;
        --fail-on)
            mapfile -t COMPREPLY < <(compgen -W 'error warning never' -- "$value")
            ;;
        --format)
            mapfile -t COMPREPLY < <(compgen -W 'text json sarif markdown' -- "$value")
            ;;
        --only)
            local before=${value%"${value##*,}"}
            mapfile -t COMPREPLY < <(compgen -P "$before" -W 'MCP001 MCP002 MCP004 MCP005 MCP006 MCP007 MCP008 MCP009 MCP011 MCP012 MCP013 MCP015 MCP017 MCP018 RDY101 RDY102 RDY103 RDY104 RDY105 RDY106 RDY107 RDY108 RDY109 RDY110 RDY111 RDY112' -- "${value##*,}")
            compopt -o nospace
            ;;
        --output)
            compopt -o default
            ;;
        --protocol-version)
            mapfile -t COMPREPLY < <(compgen -W 'auto legacy 2026-07-28' -- "$value")
            ;;
        --root)
            compopt -o dirnames
            ;;
        --skip)
            local before=${value%"${value##*,}"}
            mapfile -t COMPREPLY < <(compgen -P "$before" -W 'MCP001 MCP002 MCP004 MCP005 MCP006 MCP007 MCP008 MCP009 MCP011 MCP012 MCP013 MCP015 MCP017 MCP018 RDY101 RDY102 RDY103 RDY104 RDY105 RDY106 RDY107 RDY108 RDY109 RDY110 RDY111 RDY112' -- "${value##*,}")
            compopt -o nospace
            ;;
    esac
    COMPREPLY=("${COMPREPLY[@]/#/"$lead"}")
    COMPREPLY=("${COMPREPLY[@]#"$kept"}")
}

# The command line of the server begins with this word; its own completion knows how it goes on.
_mcp_uplift_command()
{
    if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "${starts[$1]}"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "${starts[$1]}"
    else
        compopt -o default
        if [[ $1 -eq $last && $word != */* ]]; then
            mapfile -t COMPREPLY < <(compgen -c -- "$word")
        fi
    fi
}

complete -F _mcp_uplift mcp-uplift
