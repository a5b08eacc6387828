package account

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"deployer/engine"
	"deployer/strictyaml"
	"deployer/tasks/hostfile"
)

// AuthorizedKey manages the public keys in a user's authorized_keys file.
type AuthorizedKey struct {
	User      string           `yaml:"user" rule:"owner" required:"true" doc:"user of the host who may log in with the keys; the home directory must exist"`
	Key       strictyaml.Texts `yaml:"key" rule:"own" required:"true" doc:"public key as in a .pub file, or a list; a text may have a key in each line"`
	Options   string           `yaml:"key_options" rule:"line" doc:"options of the keys as in sshd(8), such as from=\"10.0.0.0/8\",no-pty; they replace options in a key. Default none"`
	Exclusive bool             `yaml:"exclusive" doc:"remove all other keys of the user; default false"`
	State     string           `yaml:"state" enum:"present,absent" doc:"present or absent; default present"`
}

var _ engine.Module = (*AuthorizedKey)(nil)

// Valid implements engine.Validator.
func (a *AuthorizedKey) Valid() error {
	_, err := a.keys()
	return err
}

func (a *AuthorizedKey) keys() ([]publicKey, error) {
	var out []publicKey
	for _, text := range a.Key {
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			k, err := parseKey(line)
			if err != nil {
				return nil, err
			}
			if a.Options != "" {
				k.options = a.Options
			}
			out = append(out, k)
		}
	}
	if len(out) == 0 && !a.Exclusive {
		return nil, errors.New("there is no key: with exclusive: true this would remove all keys of the user")
	}
	return out, nil
}

// account is the part of a user's entry in /etc/passwd that matters for the user's keys.
type account struct {
	home     string
	uid, gid int
}

// findAccount returns nil for an unknown user.
func findAccount(sys engine.System, name string) (*account, error) {
	fields, err := entry(sys, "/etc/passwd", name)
	if err != nil || fields == nil {
		return nil, err
	}
	if len(fields) < 7 || !filepath.IsAbs(fields[5]) {
		return nil, fmt.Errorf("the line of %s in /etc/passwd has no home directory", name)
	}
	uid, err := strconv.Atoi(fields[2])
	if err != nil {
		return nil, fmt.Errorf("the number of %s in /etc/passwd is %q", name, fields[2])
	}
	gid, err := strconv.Atoi(fields[3])
	if err != nil {
		return nil, fmt.Errorf("the group of %s in /etc/passwd is %q", name, fields[3])
	}
	return &account{fields[5], uid, gid}, nil
}

// The paths are relative to the home directory.
const (
	sshDir   = ".ssh"
	keysFile = ".ssh/authorized_keys"
)

// presence is the current state of the directory and the file.
type presence struct {
	content  string
	fileThis bool     // the file exists
	access   []string // descriptions of owners and modes that sshd refuses
}

// look reads the keys. look does not follow a link that leaves the home directory.
func (acc *account) look(sys engine.System) (have presence, err error) {
	home, err := hostfile.OpenDir(sys, acc.home)
	if errors.Is(err, fs.ErrNotExist) {
		return have, nil
	}
	if err != nil {
		return have, err
	}
	defer home.Close()
	root := home.Root
	for _, name := range []string{sshDir, keysFile} {
		info, err := root.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return have, nil
		}
		if link, lerr := root.Lstat(name); err != nil && lerr == nil && link.Mode()&fs.ModeSymlink != 0 {
			return have, fmt.Errorf("%s is a symbolic link that leads out of the home directory, where keys are not written: replace the link by a file", filepath.Join(acc.home, name))
		}
		if err != nil {
			return have, fmt.Errorf("reading the state of %s: %w", filepath.Join(acc.home, name), err)
		}
		if name == keysFile && !info.Mode().IsRegular() {
			return have, fmt.Errorf("%s is not a regular file", filepath.Join(acc.home, name))
		}
		have.access = append(have.access, acc.wrong(name, info)...)
		have.fileThis = name == keysFile
	}
	data, err := hostfile.ReadFileIn(home, keysFile)
	have.content = string(data)
	return have, err
}

// wrong describes an owner or mode that sshd refuses: sshd reads the keys as the user,
// and refuses files that others may write to.
func (acc *account) wrong(name string, info fs.FileInfo) []string {
	var out []string
	stat := info.Sys().(*syscall.Stat_t)
	if int(stat.Uid) != acc.uid {
		out = append(out, fmt.Sprintf("set owner of %s %d -> %d", name, stat.Uid, acc.uid))
	}
	if info.Mode()&0o022 != 0 {
		out = append(out, fmt.Sprintf("set mode of %s %s -> %s", name, hostfile.FormatMode(info.Mode()), hostfile.FormatMode(modeOf(name))))
	}
	return out
}

func modeOf(name string) fs.FileMode {
	if name == sshDir {
		return 0o700
	}
	return 0o600
}

// Check compares the keys, and owner and mode with the requirements of sshd.
func (a *AuthorizedKey) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	keys, err := a.keys()
	if err != nil {
		return engine.Change{}, err
	}
	acc, err := findAccount(sys, a.User)
	if err != nil {
		return engine.Change{}, err
	}
	var have presence
	path := "keys of " + a.User
	if acc != nil {
		path = filepath.Join(acc.home, keysFile)
		if have, err = acc.look(sys); err != nil {
			return engine.Change{}, err
		}
	}
	want := edit(have.content, keys, a.State == "absent", a.Exclusive)
	var actions []string
	if want != have.content {
		actions = append(actions, map[bool]string{true: "replace", false: "create"}[have.fileThis])
	}
	if a.State != "absent" {
		actions = append(actions, have.access...)
	}
	if len(actions) == 0 {
		return engine.NoChange(nil), nil
	}
	return engine.Changed(engine.Effect{
		Kind: engine.EffectFile, Target: path, Action: strings.Join(actions, ", "), Diff: hostfile.Diff(path, []byte(have.content), []byte(want)),
	}), nil
}
