package agent

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"deployer/engine"
)

// account is a user of this machine.
type account struct {
	name, home, shell string
	uid, gid          uint32
	groups            []uint32
}

// runAs makes a command run as another user: with that user's groups, home and name,
// and in the home directory unless the command sets one.
func runAs(ctx context.Context, cmd *exec.Cmd, name string) error {
	a, err := findAccount(ctx, name)
	if err != nil {
		return err
	}
	if cmd.SysProcAttr.Credential, err = a.credential(os.Geteuid()); err != nil {
		return err
	}
	cmd.Env = append(cmd.Env, "HOME="+a.home, "USER="+a.name, "LOGNAME="+a.name, "SHELL="+a.shell)
	cmd.Dir = cmp.Or(cmd.Dir, a.homeOrRoot())
	return nil
}

// homeOrRoot returns the home directory, or / when there is none: the user may have no access
// to the agent's directory.
func (a account) homeOrRoot() string {
	if info, err := os.Stat(a.home); err == nil && info.IsDir() {
		return a.home
	}
	return "/"
}

// loginHome returns the home directory of the user of the SSH login, in which programs of the
// agent's own user start, as they do after sudo; / when there is none.
var loginHome = sync.OnceValue(func() string {
	a, err := findAccount(context.Background(), engine.LoginUser)
	if err != nil {
		return "/"
	}
	return a.homeOrRoot()
})

// credential returns what a process of user self needs to become the account; nil
// when self is the account. Only root can become another user.
func (a account) credential(self int) (*syscall.Credential, error) {
	switch {
	case int(a.uid) == self:
		return nil, nil
	case self != 0:
		return nil, fmt.Errorf("running a program as %s needs root, and deployer is %s on this host: set ssh.become in the inventory", a.name, selfName())
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid, Groups: a.groups}, nil
}

func selfName() string {
	if me, err := user.Current(); err == nil {
		return me.Username
	}
	return fmt.Sprintf("user %d", os.Geteuid())
}

// loginUser returns the user who logged in over SSH, before becoming root: by the
// variables of sudo, doas or su, else the agent's own user.
func loginUser(env func(string) string) string {
	return cmp.Or(env("SUDO_USER"), env("DOAS_USER"), env("LOGNAME"), selfName())
}

// findAccount looks a user up, in /etc/passwd and then in the machine's directory
// services.
func findAccount(ctx context.Context, name string) (account, error) {
	if name == engine.LoginUser {
		name = loginUser(os.Getenv)
	}
	u, err := user.Lookup(name)
	if err != nil {
		return fromService(ctx, name)
	}
	groups, err := u.GroupIds()
	if err != nil {
		return account{}, fmt.Errorf("groups of user %s: %w", name, err)
	}
	return newAccount(u, groups)
}

// fromService looks a user up with getent, which knows directory services.
func fromService(ctx context.Context, name string) (account, error) {
	line, err := exec.CommandContext(ctx, "getent", "passwd", name).Output()
	fields := strings.Split(strings.TrimSpace(string(line)), ":")
	if err != nil || len(fields) != 7 {
		return account{}, fmt.Errorf("this host has no user %q", name)
	}
	groups, err := exec.CommandContext(ctx, "id", "-G", name).Output()
	if err != nil {
		return account{}, fmt.Errorf("groups of user %s: %w", name, err)
	}
	u := &user.User{Username: fields[0], Uid: fields[2], Gid: fields[3], HomeDir: fields[5]}
	return newAccount(u, strings.Fields(string(groups)))
}

func newAccount(u *user.User, groups []string) (account, error) {
	a := account{name: u.Username, home: cmp.Or(u.HomeDir, "/"), shell: "/bin/sh"}
	ids, err := numbers(append([]string{u.Uid, u.Gid}, groups...))
	if err != nil {
		return a, fmt.Errorf("user %s: %w", u.Username, err)
	}
	a.uid, a.gid, a.groups = ids[0], ids[1], ids[2:]
	return a, nil
}

func numbers(texts []string) ([]uint32, error) {
	out := make([]uint32, len(texts))
	for i, t := range texts {
		n, err := strconv.ParseUint(t, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%q is no id", t)
		}
		out[i] = uint32(n)
	}
	return out, nil
}
