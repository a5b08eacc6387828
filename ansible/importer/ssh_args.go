package importer

import "strings"

// sshArgs are options of ssh(1) in a variable.
type sshArgs struct {
	bastions []any    // hops of ProxyJump and of ProxyCommand="ssh -W ..."; nil without one
	hostKeys []string // options about host keys
	others   []string // options without an equivalent
}

// parseSSHArgs splits options as Ansible does. Options that cannot be split are others.
func parseSSHArgs(text string) sshArgs {
	var out sshArgs
	tokens, err := splitWords(text, false)
	if err != nil {
		return sshArgs{others: []string{text}}
	}
	for i := 0; i < len(tokens); i++ {
		token := tokens[i]
		option, value := token, ""
		if len(token) >= 2 && strings.Contains("JoipFlb", token[1:2]) && token[0] == '-' {
			option, value = token[:2], token[2:]
			if value == "" && i+1 < len(tokens) {
				i++
				value = tokens[i]
			}
		}
		out.add(option, value)
	}
	return out
}

func (a *sshArgs) add(option, value string) {
	switch option {
	case "-J":
		a.jump(value)
		return
	case "-o":
		name, setting := value, ""
		if i := strings.IndexAny(value, " ="); i >= 0 {
			name, setting = value[:i], strings.TrimLeft(value[i:], " =")
		}
		switch strings.ToLower(name) {
		case "proxyjump":
			a.jump(strings.TrimSpace(setting))
			return
		case "proxycommand":
			if hop, rest, ok := hopOfCommand(setting); ok {
				if a.bastions == nil {
					a.bastions = []any{hop}
				}
				a.others = append(a.others, rest...)
				return
			}
		case "stricthostkeychecking", "userknownhostsfile":
			a.hostKeys = append(a.hostKeys, option+" "+value)
			return
		}
	}
	a.others = append(a.others, strings.TrimSpace(option+" "+value))
}

// jump adds the hops of ProxyJump; the first that ssh is given counts.
func (a *sshArgs) jump(hops string) {
	if a.bastions != nil || strings.EqualFold(hops, "none") {
		return
	}
	for hop := range strings.SplitSeq(hops, ",") {
		a.bastions = append(a.bastions, hopOf(strings.TrimPrefix(hop, "ssh://"), ""))
	}
}

// hopOf parses [user@]host[:port] into a bastion; port is the default port.
func hopOf(text, port string) map[string]any {
	out := map[string]any{}
	if i := strings.LastIndex(text, "@"); i >= 0 {
		out["user"], text = text[:i], text[i+1:]
	}
	if m := bracketedPort.FindStringSubmatch(text); m != nil {
		text, port = m[1], m[2]
	} else if m := plainPort.FindStringSubmatch(text); m != nil {
		text, port = m[1], m[2]
	}
	out["address"] = strings.Trim(text, "[]")
	if port != "" {
		out["port"] = pythonLiteral(port).v
	}
	return out
}

// hopOfCommand parses a command `ssh -W %h:%p ...`, and returns its options without an
// equivalent. It returns false for another command.
func hopOfCommand(command string) (hop map[string]any, others []string, ok bool) {
	all, err := splitWords(strings.TrimSpace(command), false)
	if err != nil || len(all) < 2 || all[0] != "ssh" && !strings.HasSuffix(all[0], "/ssh") {
		return nil, nil, false
	}
	port, user, host, key, forwards := "", "", "", "", false
	for i := 1; i < len(all); i++ {
		option, value := all[i], ""
		if len(option) >= 2 && option[0] == '-' && strings.Contains("WopliFbJc", option[1:2]) {
			if value = option[2:]; value == "" && i+1 < len(all) {
				i++
				value = all[i]
			}
			option = option[:2]
		}
		switch {
		case option == "-W":
			forwards = true
		case option == "-p":
			port = value
		case option == "-l":
			user = value
		case option == "-i":
			key = value
		case value != "":
			others = append(others, "ProxyCommand with "+option+" "+value)
		case strings.HasPrefix(option, "-"): // -q, -A, -x and the like say nothing about the way
		case host == "":
			host = option
		default:
			return nil, nil, false
		}
	}
	if host == "" || !forwards {
		return nil, nil, false
	}
	hop = hopOf(host, port)
	for name, value := range map[string]string{"user": user, "key": key} {
		if value != "" {
			hop[name] = value
		}
	}
	return hop, others, true
}
