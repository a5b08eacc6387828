package inventory

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// SSH holds the connection settings of a host. Paths are absolute after Load. Unset
// fields are zero, so that the client configuration of OpenSSH can set them; the
// documented defaults apply when that does not.
type SSH struct {
	Config             string        `yaml:"config" doc:"Client configuration file of OpenSSH, which applies to settings that are unset here, or none; default: ~/.ssh/config, then /etc/ssh/ssh_config."`
	User               string        `yaml:"user" doc:"Login name." default:"root"`
	Port               int           `yaml:"port" doc:"Port of the SSH server." default:"22"`
	Key                string        `yaml:"key" doc:"Private key file; default: keys of the agent, then the usual files in ~/.ssh."`
	KeyPassphraseEnv   string        `yaml:"key_passphrase_env" doc:"Environment variable that holds the passphrase of the key; default: it is asked for on the terminal."`
	PasswordEnv        string        `yaml:"password_env" doc:"Environment variable that holds the login password, for hosts that accept none of the keys; or --ask-pass."`
	PasswordFile       string        `yaml:"password_file" doc:"File whose first line is the login password; one that ends in .age is decrypted."`
	Agent              bool          `yaml:"agent" doc:"Use the SSH agent of SSH_AUTH_SOCK when there is one." default:"true"`
	Become             string        `yaml:"become" doc:"How the login user becomes root; not needed when it is root." enum:"none,sudo,doas,su" default:"none"`
	BecomePasswordEnv  string        `yaml:"become_password_env" doc:"Environment variable that holds the password that ssh.become asks for: the user's, or for su that of root; or --ask-become-pass."`
	BecomePasswordFile string        `yaml:"become_password_file" doc:"File whose first line is the password for ssh.become; one that ends in .age is decrypted."`
	KnownHosts         string        `yaml:"known_hosts" doc:"File of known host keys." default:"~/.ssh/known_hosts"`
	HostKeys           string        `yaml:"host_keys" doc:"Hosts that are not in known_hosts: strict refuses them, accept-new adds them; a changed key is always refused." enum:"strict,accept-new" default:"strict"`
	Bastion            Hops          `yaml:"bastion" doc:"Host, or list of hosts in order, through which the connection goes; an empty list means none."`
	ConnectTimeout     time.Duration `yaml:"connect_timeout" doc:"Time for one attempt to connect and log in." default:"10s"`
}

// Hop is a bastion. Unset fields have the values of the host behind it.
type Hop struct {
	Host             string `yaml:"host" doc:"Name of a host of this inventory, whose address and login are used."`
	Address          string `yaml:"address" doc:"IP address or name; a hop has either address or host."`
	User             string `yaml:"user" doc:"Login name; default: as for the host behind."`
	Port             int    `yaml:"port" doc:"Port of the SSH server." default:"22"`
	Key              string `yaml:"key" doc:"Private key file; default: as for the host behind."`
	KeyPassphraseEnv string `yaml:"key_passphrase_env" doc:"Environment variable that holds the passphrase of the key; default: it is asked for on the terminal."`
	PasswordEnv      string `yaml:"password_env" doc:"Environment variable that holds the login password; default: that of the host behind, for the same user."`
	PasswordFile     string `yaml:"password_file" doc:"File whose first line is the login password; one that ends in .age is decrypted."`

	pos strictyaml.Pos
}

// Hops are the bastions of a host, the first one nearest to the controller.
type Hops []Hop

// UnmarshalYAML decodes one hop or a list of hops.
func (h *Hops) UnmarshalYAML(n *yaml.Node) error {
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
	}
	var errs []error
	*h = Hops{}
	for _, item := range items {
		hop := Hop{pos: strictyaml.At("", item)}
		errs = append(errs, strictyaml.DecodeAs("", "bastion", item, &hop), hop.check())
		*h = append(*h, hop)
	}
	return strictyaml.Join(errs...)
}

// YAMLSchema describes the type to strictyaml.Schema.
func (Hops) YAMLSchema() map[string]any {
	one := strictyaml.Schema(Hop{})
	return map[string]any{"oneOf": []any{one, map[string]any{"type": "array", "items": one}}}
}

// YAMLItem describes the type to strictyaml.Describe.
func (Hops) YAMLItem() any { return Hop{} }

func (h Hop) check() error {
	if (h.Host == "") == (h.Address == "") {
		return h.pos.Errorf("a bastion requires either address, or host with the name of a host of this inventory")
	}
	if h.PasswordEnv != "" && h.PasswordFile != "" {
		return h.pos.Errorf("password_env and password_file of the bastion are both set; keep one")
	}
	if h.Port < 0 || h.Port > 65535 {
		return h.pos.Errorf("port %d of the bastion is not from 1 to 65535", h.Port)
	}
	return nil
}

// NoConfig is the value of SSH.Config for no configuration file.
const NoConfig = "none"

func sshDefaults() SSH {
	return SSH{Agent: true, Become: "none"}
}

// check validates the merged settings of a host, and returns the wrong key with the
// error.
func (s SSH) check() (key string, err error) {
	switch {
	case s.Port < 0 || s.Port > 65535:
		return "port", fmt.Errorf("ssh.port %d is not from 1 to 65535", s.Port)
	case s.ConnectTimeout < 0:
		return "connect_timeout", errors.New("ssh.connect_timeout must not be negative")
	case s.PasswordEnv != "" && s.PasswordFile != "":
		return "password_env", errors.New("ssh.password_env and ssh.password_file are both set; keep one")
	case s.BecomePasswordEnv != "" && s.BecomePasswordFile != "":
		return "become_password_env", errors.New("ssh.become_password_env and ssh.become_password_file are both set; keep one")
	case s.Become == "none" && s.BecomePasswordEnv != "":
		return "become_password_env", errors.New("a become password is set, but ssh.become is none")
	case s.Become == "none" && s.BecomePasswordFile != "":
		return "become_password_file", errors.New("a become password is set, but ssh.become is none")
	}
	return "", nil
}

// resolvePaths makes the paths absolute: ~ is home, others are relative to dir.
func (s *SSH) resolvePaths(dir, home string) {
	if s.Config != NoConfig {
		s.Config = absolute(s.Config, dir, home)
	}
	for _, p := range []*string{&s.Key, &s.PasswordFile, &s.BecomePasswordFile, &s.KnownHosts} {
		*p = absolute(*p, dir, home)
	}
	for i := range s.Bastion {
		s.Bastion[i].Key = absolute(s.Bastion[i].Key, dir, home)
		s.Bastion[i].PasswordFile = absolute(s.Bastion[i].PasswordFile, dir, home)
	}
}

func absolute(p, dir, home string) string {
	switch {
	case p == "" || filepath.IsAbs(p):
		return p
	case p == "~" || strings.HasPrefix(p, "~/"):
		return filepath.Join(home, strings.TrimPrefix(p[1:], "/"))
	}
	return filepath.Join(dir, p)
}
