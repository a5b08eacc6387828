package ssh

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"deployer/engine/transport/ssh/sshconfig"
)

// ClientConfig is the part of OpenSSH's client configuration that concerns the
// connection to hosts. Keywords other than those in the list are ignored, also
// ControlPath, as connections are shared anyway.
type ClientConfig struct {
	cfg  *sshconfig.Config
	home string
	user string // the user who runs this program

	holds execCache
}

// NoClientConfig is the path that means no configuration, as with ssh -F.
const NoClientConfig = "none"

// ReadClientConfig reads the file, or ~/.ssh/config and /etc/ssh/ssh_config when
// path is empty.
func ReadClientConfig(path string) (*ClientConfig, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("reading the SSH client configuration: %w", err)
	}
	c := &ClientConfig{home: home, user: os.Getenv("USER")}
	if me, err := user.Current(); err == nil {
		c.user = me.Username
	}
	c.cfg, err = sshconfig.Read(c.sources(path)...)
	return c, err
}

func (c *ClientConfig) sources(path string) []sshconfig.Source {
	own := sshconfig.Source{Path: path, Dir: filepath.Join(c.home, ".ssh"), Home: c.home}
	switch path {
	case NoClientConfig:
		return nil
	case "":
		own.Path, own.Optional = filepath.Join(own.Dir, "config"), true
		return []sshconfig.Source{own, {Path: "/etc/ssh/ssh_config", Optional: true, Dir: "/etc/ssh", Home: c.home}}
	}
	return []sshconfig.Source{own}
}

// Apply fills in the fields that the target leaves open, and those of its bastions
// by their addresses. Fields that the target sets win.
func (c *ClientConfig) Apply(t Target) (Target, error) { return c.apply(t, 0) }

// maxJumps bounds a chain of ProxyJump, which may be circular.
const maxJumps = 8

func (c *ClientConfig) apply(t Target, depth int) (Target, error) {
	if depth > maxJumps {
		return t, fmt.Errorf("ProxyJump of %s goes in a circle, or over more than %d hosts", t.Host, maxJumps)
	}
	a := &application{c: c, alias: t.alias(), t: t}
	var err error
	a.settings, err = c.cfg.For(c.query(t))
	if err != nil {
		return t, err
	}
	for _, fill := range []func() error{a.address, a.login, a.timeout, a.keys, a.agent, a.knownHosts, a.hostKeys} {
		if err := fill(); err != nil {
			return t, err
		}
	}
	if err := a.way(depth); err != nil {
		return t, err
	}
	return a.t, nil
}

// query returns the settings of a target.
func (c *ClientConfig) query(t Target) sshconfig.Query {
	return sshconfig.Query{Host: t.alias(), User: t.User, DefaultUser: Target{}.Login(), LocalUser: c.user, Home: c.home, Exec: c.holds.run}
}

// application fills in one target.
type application struct {
	c        *ClientConfig
	settings sshconfig.Settings
	alias    string // the name by which the target was given
	t        Target
}

func (a *application) get(keyword string) sshconfig.Value { return a.settings.First(keyword) }

func (a *application) address() error {
	if name := a.get("HostName"); name.Text() != "" {
		text, err := sshconfig.Expand(name.Pos, name.Text(), map[byte]string{'h': a.alias})
		if err != nil {
			return err
		}
		a.t.Address = text
	}
	a.t.BindAddress = a.get("BindAddress").Text()
	switch family := a.get("AddressFamily"); strings.ToLower(family.Text()) {
	case "", "any":
	case "inet":
		a.t.Family = 4
	case "inet6":
		a.t.Family = 6
	default:
		return family.Pos.Errorf("AddressFamily %q is none of any, inet and inet6", family.Text())
	}
	return nil
}

func (a *application) login() error {
	if a.t.User == "" {
		a.t.User = a.get("User").Text()
	}
	if port := a.get("Port"); port.Text() != "" && a.t.Port == 0 {
		n, err := strconv.ParseUint(port.Text(), 10, 16)
		if err != nil || n == 0 {
			return port.Pos.Errorf("Port %q is not from 1 to 65535", port.Text())
		}
		a.t.Port = int(n)
	}
	return nil
}

func (a *application) timeout() error {
	limit := a.get("ConnectTimeout")
	if a.t.Timeout != 0 || limit.Text() == "" || limit.Text() == "none" {
		return nil
	}
	text := limit.Text()
	if _, err := strconv.Atoi(text); err == nil {
		text += "s"
	}
	d, err := time.ParseDuration(strings.ToLower(text))
	if err != nil || d < 0 {
		return limit.Pos.Errorf("ConnectTimeout %q is not a time such as 10, 30s or 1m30s", limit.Text())
	}
	a.t.Timeout = d
	return nil
}

func (a *application) hostKeys() error {
	if a.t.HostKeyAlias == "" {
		a.t.HostKeyAlias = a.get("HostKeyAlias").Text()
	}
	a.t.HashKnownHosts = a.t.HashKnownHosts || yes(a.get("HashKnownHosts"))
	if a.t.HostKeys != "" {
		return nil
	}
	switch v := a.get("StrictHostKeyChecking"); strings.ToLower(v.Text()) {
	case "":
	case "yes", "true", "ask": // nobody is asked here
		a.t.HostKeys = Strict
	case "accept-new", "no", "false", "off": // a changed key is never accepted
		a.t.HostKeys = AcceptNew
	default:
		return v.Pos.Errorf("StrictHostKeyChecking %q is none of yes, ask, accept-new and no", v.Text())
	}
	return nil
}

func yes(v sshconfig.Value) bool {
	text := strings.ToLower(v.Text())
	return text == "yes" || text == "true"
}
