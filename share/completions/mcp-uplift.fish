# fish completion of mcp-uplift, made of its tables of options by `make pages`.

# What the word at the cursor belongs to: bridge, check, or command. After the latter come the words
# of the command line of the server before it.
function __mcp_uplift_place
    set -l place bridge
    set -l valued --env --cwd --root --protocol-version --parallel --cache-ttl-ms --max-line-bytes --max-buffer-bytes --max-in-flight --max-subscriptions --max-subscription-uris --mrtr-ttl-ms --request-timeout-ms --max-request-ms --initialize-timeout-ms --shutdown-grace-ms
    set -l words (commandline -opc)
    set -e words[1]
    if set -q words[1]; and test $words[1] = check
        set place check
        set valued --env --cwd --only --skip --call --timeout --start-timeout --budget --format --output --anchor --fail-on
        set -e words[1]
    end
    while set -q words[1]
        switch $words[1]
            case --
                set place command
                set -e words[1]
                break
            case -
                set place command
                break
            case '-*'
                if contains -- $words[1] $valued; and set -q words[2]
                    set -e words[1]
                end
            case '*'
                set place command
                break
        end
        set -e words[1]
    end
    printf '%s\n' $place
    test $place = command; and set -q words[1]; and printf '%s\n' $words
    return 0
end

function __mcp_uplift_in
    set -l place (__mcp_uplift_place)
    test $place[1] = $argv[1]
end

# Where options stand a command may begin, too. Before its first letter there are too many.
function __mcp_uplift_may_begin
    not __mcp_uplift_in command; and string match -qr -- '^[^-]' (commandline -ct)
end

function __mcp_uplift_is_first
    test (count (commandline -opc)) -eq 1
end

# The command of the server, or what its own completion says.
function __mcp_uplift_command
    set -l place (__mcp_uplift_place)
    set -l words (string escape -- $place[2..-1]) (commandline -ct)
    complete -C (string join ' ' -- $words)
end

# Ids with commas: those before the last comma stay.
function __mcp_uplift_rules
    set -l before (commandline -ct | string replace -r '^--[a-z-]+=' '' | string match -r '^.*,')
    echo "$before"'MCP001	server/discover does not work'
    echo "$before"'MCP002	requests do not stand alone'
    echo "$before"'MCP004	results lack a valid resultType'
    echo "$before"'MCP005	cacheable results lack valid ttlMs / cacheScope'
    echo "$before"'MCP006	ping still answers'
    echo "$before"'MCP007	logging/setLevel still answers'
    echo "$before"'MCP008	resources/subscribe still answers'
    echo "$before"'MCP009	subscriptions/listen is not acknowledged'
    echo "$before"'MCP011	an absent resource is not -32602'
    echo "$before"'MCP012	an unsupported version has the old code'
    echo "$before"'MCP013	the _meta envelope is rejected'
    echo "$before"'MCP015	deprecated Logging, Roots or Sampling in use'
    echo "$before"'MCP017	list order is not deterministic'
    echo "$before"'MCP018	results do not name the server'
    echo "$before"'RDY101	stdout has lines that are no messages'
    echo "$before"'RDY102	answers do not match their requests'
    echo "$before"'RDY103	an advertised list does not work'
    echo "$before"'RDY104	unsupported versions are not refused'
    echo "$before"'RDY105	an incomplete envelope is accepted'
    echo "$before"'RDY106	the server sends requests'
    echo "$before"'RDY107	notifications come unasked'
    echo "$before"'RDY108	unknown methods are not refused'
    echo "$before"'RDY109	a request ends the process'
    echo "$before"'RDY110	end of input does not end the server'
    echo "$before"'RDY111	core tasks of 2025-11-25 in use'
    echo "$before"'RDY112	the called tool has no valid result'
end

complete -c mcp-uplift -f
complete -c mcp-uplift -n __mcp_uplift_is_first -a check -d 'see how far a server is from 2026-07-28'
complete -c mcp-uplift -n '__mcp_uplift_in command' -a '(__mcp_uplift_command)'
complete -c mcp-uplift -n __mcp_uplift_may_begin -a '(__mcp_uplift_command)'

complete -c mcp-uplift -n '__mcp_uplift_in bridge' -l env -x -a '(set -nx)' -d 'pass this variable on, with this value or ours'
complete -c mcp-uplift -n '__mcp_uplift_in bridge' -l inherit-env -d 'pass our whole environment on, not only the variables listed below'
complete -c mcp-uplift -n '__mcp_uplift_in bridge' -l cwd -x -a '(__fish_complete_directories)' -d 'working directory of COMMAND'
complete -c mcp-uplift -n '__mcp_uplift_in bridge' -l root -x -a '(__fish_complete_directories)' -d 'a directory to name when the server asks for roots'
complete -c mcp-uplift -n '__mcp_uplift_in bridge' -l no-new-privs -d 'nothing that is started gains privileges, as by setuid (Linux)'
complete -c mcp-uplift -n '__mcp_uplift_in bridge' -l protocol-version -x -a 'auto legacy 2026-07-28' -d 'what COMMAND speaks: auto, legacy or 2026-07-28'
complete -c mcp-uplift -n '__mcp_uplift_in bridge' -l hold-lane -d 'a call that waits for the client\'s input keeps others waiting'
complete -c mcp-uplift -n '__mcp_uplift_in bridge' -l parallel -x -d 'requests that run at once on the server'
complete -c mcp-uplift -n '__mcp_uplift_in bridge' -l cache-ttl-ms -x -d 'how long clients may keep lists and reads'
complete -c mcp-uplift -n '__mcp_uplift_in bridge' -l max-line-bytes -x -d 'longest line taken from either side'
complete -c mcp-uplift -n '__mcp_uplift_in bridge' -l max-buffer-bytes -x -d 'bytes that wait in all, for a slow reader or for their turn'
complete -c mcp-uplift -n '__mcp_uplift_in bridge' -l max-in-flight -x -d 'accepted requests that are not answered yet'
complete -c mcp-uplift -n '__mcp_uplift_in bridge' -l max-subscriptions -x -d 'open subscriptions/listen streams'
complete -c mcp-uplift -n '__mcp_uplift_in bridge' -l max-subscription-uris -x -d 'resource URIs one stream may name'
complete -c mcp-uplift -n '__mcp_uplift_in bridge' -l mrtr-ttl-ms -x -d 'how long a requestState can be answered'
complete -c mcp-uplift -n '__mcp_uplift_in bridge' -l request-timeout-ms -x -d 'longest silence of a running request'
complete -c mcp-uplift -n '__mcp_uplift_in bridge' -l max-request-ms -x -d 'longest run of a request'
complete -c mcp-uplift -n '__mcp_uplift_in bridge' -l initialize-timeout-ms -x -d 'longest handshake'
complete -c mcp-uplift -n '__mcp_uplift_in bridge' -l shutdown-grace-ms -x -d 'from closing the server\'s stdin to SIGKILL; SIGTERM after a third'
complete -c mcp-uplift -n '__mcp_uplift_in bridge' -s q -l quiet -d 'errors only'
complete -c mcp-uplift -n '__mcp_uplift_in bridge' -s v -l verbose -d 'starts and ends, too; -vv: each message, shortened'
complete -c mcp-uplift -n '__mcp_uplift_in bridge' -s h -l help -d 'print this'
complete -c mcp-uplift -n '__mcp_uplift_in bridge' -s V -l version -d 'print the version'

complete -c mcp-uplift -n '__mcp_uplift_in check' -l env -x -a '(set -nx)' -d 'pass this variable on, with this value or ours'
complete -c mcp-uplift -n '__mcp_uplift_in check' -l inherit-env -d 'pass our whole environment on, not only the variables listed below'
complete -c mcp-uplift -n '__mcp_uplift_in check' -l cwd -x -a '(__fish_complete_directories)' -d 'working directory of COMMAND'
complete -c mcp-uplift -n '__mcp_uplift_in check' -l only -x -a '(__mcp_uplift_rules)' -d 'rules to judge, as in MCP001,RDY108'
complete -c mcp-uplift -n '__mcp_uplift_in check' -l skip -x -a '(__mcp_uplift_rules)' -d 'rules to leave out'
complete -c mcp-uplift -n '__mcp_uplift_in check' -l call -x -d 'call this tool with these arguments; NAME=@FILE reads them'
complete -c mcp-uplift -n '__mcp_uplift_in check' -l wrapped -d 'check COMMAND behind mcp-uplift as well, in any case'
complete -c mcp-uplift -n '__mcp_uplift_in check' -l native-only -d 'never check it behind mcp-uplift'
complete -c mcp-uplift -n '__mcp_uplift_in check' -l timeout -x -d 'longest wait for an answer'
complete -c mcp-uplift -n '__mcp_uplift_in check' -l start-timeout -x -d 'longest wait for the first answer of a process'
complete -c mcp-uplift -n '__mcp_uplift_in check' -l budget -x -d 'longest check, native and wrapped each'
complete -c mcp-uplift -n '__mcp_uplift_in check' -l format -x -a 'text json sarif markdown' -d 'text, json, sarif or markdown'
complete -c mcp-uplift -n '__mcp_uplift_in check' -l output -r -F -d 'write the report there'
complete -c mcp-uplift -n '__mcp_uplift_in check' -l anchor -r -F -d 'source file that SARIF findings are shown at'
complete -c mcp-uplift -n '__mcp_uplift_in check' -l fail-on -x -a 'error warning never' -d 'what makes the exit status 1: error, warning or never'
complete -c mcp-uplift -n '__mcp_uplift_in check' -l accept-wrapped -d 'exit status 0 also when only ready behind mcp-uplift'
complete -c mcp-uplift -n '__mcp_uplift_in check' -s v -l verbose -d 'messages behind findings, stderr of COMMAND, passed rules'
complete -c mcp-uplift -n '__mcp_uplift_in check' -l no-color -d 'no colour at a terminal; also with NO_COLOR or TERM=dumb set'
complete -c mcp-uplift -n '__mcp_uplift_in check' -l list-rules -d 'print all rules, as text or json'
complete -c mcp-uplift -n '__mcp_uplift_in check' -s h -l help -d 'print this'
