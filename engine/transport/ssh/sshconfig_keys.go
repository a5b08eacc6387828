package ssh

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"deployer/engine/transport/ssh/sshconfig"
)

func (a *application) keys() error {
	if a.t.Keys == nil {
		keys, err := a.paths(a.settings["identityfile"])
		if err != nil {
			return err
		}
		a.t.Keys, a.t.LaxKeys = keys, true // ssh(1) tries the next one, too
	}
	certificates, err := a.paths(a.settings["certificatefile"])
	if err != nil {
		return err
	}
	a.t.Certificates = append(a.t.Certificates, certificates...)
	a.t.KeysOnly = a.t.KeysOnly || yes(a.get("IdentitiesOnly"))
	return nil
}

func (a *application) agent() error {
	v := a.get("IdentityAgent")
	socket := v.Text()
	switch {
	case socket == "" || socket == "SSH_AUTH_SOCK" || a.t.AgentSocket != "":
		return nil
	case socket == "none":
		a.t.NoAgent = true
		return nil
	case strings.HasPrefix(socket, "$") && !strings.HasPrefix(socket, "${"):
		a.t.AgentSocket = os.Getenv(socket[1:])
		return nil
	}
	var err error
	a.t.AgentSocket, err = a.path(v, socket)
	return err
}

// knownHosts takes the user's files, to the first of which new keys are added,
// and after them the system's.
func (a *application) knownHosts() error {
	own, system := a.get("UserKnownHostsFile"), a.get("GlobalKnownHostsFile")
	if len(a.t.KnownHosts) > 0 || own.Args == nil && system.Args == nil {
		return nil
	}
	if own.Args == nil {
		own.Args = []string{"~/.ssh/known_hosts"}
	}
	if system.Args == nil {
		system.Args = []string{"/etc/ssh/ssh_known_hosts"}
	}
	for _, v := range []sshconfig.Value{own, system} {
		for _, name := range v.Args {
			if name == "none" {
				name = os.DevNull
			}
			path, err := a.path(v, name)
			if err != nil {
				return err
			}
			a.t.KnownHosts = append(a.t.KnownHosts, path)
		}
	}
	return nil
}

// paths expands the file names that are the values of a keyword; none stands
// for no file.
func (a *application) paths(values []sshconfig.Value) ([]string, error) {
	var out []string
	for _, v := range values {
		if v.Text() == "none" {
			return []string{}, nil
		}
		path, err := a.path(v, v.Text())
		if err != nil {
			return nil, err
		}
		out = append(out, path)
	}
	return out, nil
}

// path expands ~, ${VARIABLE} and tokens in a file name.
func (a *application) path(v sshconfig.Value, name string) (string, error) {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		name = filepath.Join(a.c.home, rest)
	}
	var missing string
	if strings.Contains(name, "${") {
		name = os.Expand(name, func(variable string) string {
			value, ok := os.LookupEnv(variable)
			if !ok {
				missing = variable
			}
			return value
		})
	}
	if missing != "" {
		return "", v.Pos.Errorf("the environment variable %s is not set", missing)
	}
	return sshconfig.Expand(v.Pos, name, a.tokens())
}

// tokens returns the tokens of ssh_config(5) that are known here.
func (a *application) tokens() map[byte]string {
	host, _, _ := strings.Cut(localName(), ".")
	key := a.t.HostKeyAlias
	if key == "" {
		key = a.alias
	}
	return map[byte]string{'d': a.c.home, 'h': a.t.alias(), 'i': strconv.Itoa(os.Getuid()), 'k': key, 'L': host, 'l': localName(),
		'n': a.alias, 'p': strconv.Itoa(a.t.SSHPort()), 'r': a.t.Login(), 'u': a.c.user}
}

func localName() string {
	name, _ := os.Hostname()
	return name
}
