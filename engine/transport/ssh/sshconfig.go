package ssh

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kevinburke/ssh_config"
)

// ClientConfig is a client configuration of OpenSSH, such as ~/.ssh/config, as
// far as it says how to reach a host: HostName, Port, User, IdentityFile,
// UserKnownHostsFile, ConnectTimeout and ProxyJump.
//
// How keys of hosts are checked is not read from there: a "no" meant for some
// other purpose must not open this door.
type ClientConfig struct {
	path string
	cfg  *ssh_config.Config
	home string
}

// ReadClientConfig reads the file. Include is followed, Match is not supported
// and an error.
func ReadClientConfig(path string) (*ClientConfig, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("reading the SSH client configuration: %w", err)
	}
	c := &ClientConfig{path: path, home: home}
	f, err := os.Open(c.expand(path))
	if err != nil {
		return nil, fmt.Errorf("reading the SSH client configuration: %w", err)
	}
	defer func() { _ = f.Close() }()
	if c.cfg, err = ssh_config.Decode(f); err != nil {
		return nil, fmt.Errorf("reading the SSH client configuration %s: %w", path, err)
	}
	return c, nil
}

// Apply fills in what the target leaves open, looked up by its host name or, if
// that has an Address, by its address: what the inventory says wins.
func (c *ClientConfig) Apply(t Target) (Target, error) {
	return c.apply(t, 0)
}

// maxJumps bounds a chain of ProxyJump, which may be a circle.
const maxJumps = 8

func (c *ClientConfig) apply(t Target, depth int) (Target, error) {
	if depth > maxJumps {
		return t, fmt.Errorf("%s: ProxyJump of %s goes in a circle, or over more than %d hosts", c.path, t.Host, maxJumps)
	}
	alias := t.Address
	if alias == "" {
		alias = t.Host
	}
	get := func(key string) string {
		value, _ := c.cfg.Get(alias, key)
		return value
	}
	if name := get("HostName"); name != "" {
		t.Address = strings.ReplaceAll(name, "%h", alias)
	}
	if t.User == "" {
		t.User = get("User")
	}
	if err := c.numbers(&t, get); err != nil {
		return t, err
	}
	if err := c.files(&t, alias); err != nil {
		return t, err
	}
	jump := get("ProxyJump")
	if jump == "" || strings.EqualFold(jump, "none") || len(t.Bastions) > 0 {
		return t, nil
	}
	for _, hop := range strings.Split(jump, ",") {
		if err := c.jump(&t, strings.TrimSpace(hop), depth); err != nil {
			return t, err
		}
	}
	return t, nil
}

func (c *ClientConfig) numbers(t *Target, get func(string) string) error {
	if port := get("Port"); port != "" && t.Port == 0 {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return fmt.Errorf("%s: Port %q of %s is not a port", c.path, port, t.Host)
		}
		t.Port = int(n)
	}
	if limit := get("ConnectTimeout"); limit != "" && t.Timeout == 0 {
		n, err := strconv.Atoi(limit)
		if err != nil || n < 0 {
			return fmt.Errorf("%s: ConnectTimeout %q of %s is not a number of seconds", c.path, limit, t.Host)
		}
		t.Timeout = time.Duration(n) * time.Second
	}
	return nil
}

func (c *ClientConfig) files(t *Target, alias string) error {
	if len(t.Keys) == 0 {
		keys, err := c.cfg.GetAll(alias, "IdentityFile")
		if err != nil {
			return fmt.Errorf("%s: %w", c.path, err)
		}
		for _, k := range keys {
			t.Keys = append(t.Keys, c.expand(k))
		}
	}
	if len(t.KnownHosts) == 0 {
		known, err := c.cfg.Get(alias, "UserKnownHostsFile")
		if err != nil {
			return fmt.Errorf("%s: %w", c.path, err)
		}
		for _, k := range strings.Fields(known) {
			t.KnownHosts = append(t.KnownHosts, c.expand(k))
		}
	}
	return nil
}

// jump adds the hop [user@]host[:port], and before it those of its own.
func (c *ClientConfig) jump(t *Target, hop string, depth int) error {
	b := Target{HostKeys: t.HostKeys, NoAgent: t.NoAgent}
	if user, rest, ok := strings.Cut(hop, "@"); ok {
		b.User, hop = user, rest
	}
	b.Host = strings.Trim(hop, "[]")
	if i := strings.LastIndex(hop, ":"); i >= 0 && (strings.HasSuffix(hop[:i], "]") || !strings.Contains(hop[:i], ":")) {
		port, err := strconv.ParseUint(hop[i+1:], 10, 16)
		if err != nil {
			return fmt.Errorf("%s: ProxyJump %q of %s has no such port", c.path, hop, t.Host)
		}
		b.Host, b.Port = strings.Trim(hop[:i], "[]"), int(port)
	}
	b, err := c.apply(b, depth+1)
	if err != nil {
		return err
	}
	before := b.Bastions
	b.Bastions = nil
	t.Bastions = append(append(t.Bastions, before...), b)
	return nil
}

// expand replaces ~ and %d, the home directory.
func (c *ClientConfig) expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(c.home, rest)
	}
	return strings.ReplaceAll(path, "%d", c.home)
}
