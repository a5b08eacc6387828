package account

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// User is a user of the host. It gets no password.
type User struct {
	Name   string   `yaml:"name" required:"true" doc:"name of the user"`
	UID    int      `yaml:"uid" doc:"number; default: the system picks one. An existing user keeps its own, and another number is an error"`
	Group  string   `yaml:"group" doc:"primary group, which must exist; default: one of the user's name"`
	Groups []string `yaml:"groups" doc:"further groups that the user must be in; others are left alone"`
	Home   string   `yaml:"home" doc:"home directory; default: what the system chooses"`
	Shell  string   `yaml:"shell" doc:"login shell; default: what the user has, /usr/sbin/nologin for a new system user"`
	System bool     `yaml:"system" doc:"a user for a service: number among those of the system, no home directory is made. Default false"`
	State  string   `yaml:"state" doc:"present or absent; the home directory of a removed user stays. Default present"`
}

// Check reads /etc/passwd and /etc/group.
func (u *User) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	if err := validState(u.State); err != nil {
		return engine.Change{}, err
	}
	if !validName.MatchString(u.Name) {
		return engine.Change{}, fmt.Errorf("%q is not a name for a user", u.Name)
	}
	have, err := entry(sys, "/etc/passwd", u.Name)
	if err != nil {
		return engine.Change{}, err
	}
	effect := engine.Effect{Kind: engine.EffectFile, Target: "user " + u.Name}
	switch {
	case u.State == "absent" && have == nil:
		return engine.NoChange(nil), nil
	case u.State == "absent":
		effect.Action = "remove"
		return engine.Changed(effect), nil
	case have == nil:
		effect.Action = "create"
		return engine.Changed(effect), nil
	case len(have) < 7:
		return engine.Change{}, fmt.Errorf("the line of %s in /etc/passwd is not whole: look at it", u.Name)
	case u.UID != 0 && have[2] != strconv.Itoa(u.UID):
		return engine.Change{}, fmt.Errorf("user %s has the number %s, not %d: files would change hands, so change it by hand", u.Name, have[2], u.UID)
	}
	words, err := u.differences(sys, have)
	if err != nil || len(words) == 0 {
		return engine.Change{}, err
	}
	effect.Action = "set " + strings.Join(words, ", ")
	return engine.Changed(effect), nil
}

// differences compares an existing user, in words.
func (u *User) differences(sys engine.System, have []string) ([]string, error) {
	var out []string
	if u.Home != "" && have[5] != u.Home {
		out = append(out, "home "+u.Home)
	}
	if u.Shell != "" && have[6] != u.Shell {
		out = append(out, "shell "+u.Shell)
	}
	if u.Group != "" {
		group, err := entry(sys, "/etc/group", u.Group)
		if err != nil {
			return nil, err
		}
		if len(group) < 3 || group[2] != have[3] {
			out = append(out, "group "+u.Group)
		}
	}
	missing, err := u.missingGroups(sys)
	if len(missing) > 0 {
		out = append(out, "further groups "+strings.Join(missing, " "))
	}
	return out, err
}

func (u *User) missingGroups(sys engine.System) ([]string, error) {
	if len(u.Groups) == 0 {
		return nil, nil
	}
	in, err := groupsOf(sys, u.Name)
	return slices.DeleteFunc(slices.Clone(u.Groups), func(g string) bool { return slices.Contains(in, g) }), err
}

// Apply runs useradd, usermod or userdel.
func (u *User) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	if u.State == "absent" {
		_, err := hostcmd.Run(ctx, sys, "userdel", u.Name)
		return nil, err
	}
	have, err := entry(sys, "/etc/passwd", u.Name)
	if err != nil {
		return nil, err
	}
	argv := u.modify()
	if have == nil {
		argv = u.add()
	}
	_, err = hostcmd.Run(ctx, sys, append(argv, u.Name)...)
	return nil, err
}

func (u *User) add() []string {
	argv := []string{"useradd"}
	shell := u.Shell
	if u.System {
		argv = append(argv, "--system", "--no-create-home")
		if shell == "" {
			shell = "/usr/sbin/nologin"
		}
	} else {
		argv = append(argv, "--create-home")
	}
	if u.UID != 0 {
		argv = append(argv, "--uid", strconv.Itoa(u.UID))
	}
	if u.Group == "" {
		argv = append(argv, "--user-group")
	}
	return append(argv, u.options(shell, "--groups")...)
}

func (u *User) modify() []string {
	return append([]string{"usermod"}, u.options(u.Shell, "--append", "--groups")...)
}

func (u *User) options(shell string, groups ...string) []string {
	var out []string
	for _, o := range [][2]string{{"--gid", u.Group}, {"--home", u.Home}, {"--shell", shell}} {
		if o[1] != "" {
			out = append(out, o[0], o[1])
		}
	}
	if len(u.Groups) > 0 {
		out = append(append(out, groups...), strings.Join(u.Groups, ","))
	}
	return out
}
