package ssh

import (
	"fmt"
	"strconv"
	"strings"

	"deployer/engine/transport/ssh/sshconfig"
)

// way sets the path to the target: through the bastions of the target, with their settings
// filled in; otherwise by ProxyJump or ProxyCommand, whichever comes first.
func (a *application) way(depth int) error {
	if a.t.Bastions != nil {
		return a.complete(a.t.Bastions, depth)
	}
	keyword, v := a.settings.Earliest("proxyjump", "proxycommand")
	text := strings.TrimSpace(v.Text())
	switch {
	case text == "" || strings.EqualFold(text, "none"):
		return nil
	case keyword == "proxycommand":
		return a.command(v, text)
	}
	var hops []Target
	for _, word := range strings.Split(text, ",") {
		hop, err := jump(v, strings.TrimSpace(word))
		if err != nil {
			return err
		}
		hop.HostKeys, hop.NoAgent, hop.Timeout = a.t.HostKeys, a.t.NoAgent, a.t.Timeout
		hops = append(hops, hop)
	}
	return a.complete(hops, depth)
}

// complete fills in the hops. The first one may itself have hops before it; each
// other one is reached through the hop before it, whatever the configuration says.
func (a *application) complete(hops []Target, depth int) error {
	a.t.Bastions = []Target{}
	for i, hop := range hops {
		if i > 0 {
			hop.Bastions = []Target{}
		}
		hop, err := a.c.apply(hop, depth+1)
		if err != nil {
			return err
		}
		a.t.Bastions = append(a.t.Bastions, hop.Bastions...)
		hop.Bastions = nil
		a.t.Bastions = append(a.t.Bastions, hop)
	}
	return nil
}

func (a *application) command(v sshconfig.Value, text string) error {
	tokens := a.tokens()
	line, err := sshconfig.ExpandCommand(v.Pos, "ProxyCommand", text, tokens)
	a.t.ProxyCommand = line
	return err
}

// jump reads [user@]host[:port], or the same as a URI.
func jump(v sshconfig.Value, text string) (Target, error) {
	rest := strings.TrimSuffix(strings.TrimPrefix(text, "ssh://"), "/")
	var t Target
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		t.User, rest = rest[:i], rest[i+1:]
	}
	host, port := rest, ""
	if i := strings.LastIndex(rest, ":"); i >= 0 && (strings.HasSuffix(rest[:i], "]") || !strings.Contains(rest[:i], ":")) {
		host, port = rest[:i], rest[i+1:]
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return t, v.Pos.Errorf("ProxyJump %q has no such port", text)
		}
		t.Port = int(n)
	}
	t.Address = strings.Trim(host, "[]")
	if t.Address == "" {
		return t, v.Pos.Errorf("ProxyJump %q names no host", text)
	}
	t.Host = fmt.Sprintf("bastion %s", t.Address)
	return t, nil
}
