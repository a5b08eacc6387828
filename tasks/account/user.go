package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"deployer/engine"
	"deployer/strictyaml"
	"deployer/tasks/hostcmd"
)

// User manages a user of the host.
type User struct {
	Name           string           `yaml:"name" rule:"account" required:"true" doc:"name of the user"`
	UID            int              `yaml:"uid" range:"0..4294967294" doc:"user number; default: chosen by the system. A different number for an existing user is an error"`
	Group          string           `yaml:"group" rule:"owner" doc:"primary group, which must exist; default: a group with the user's name"`
	Groups         strictyaml.Texts `yaml:"groups" rule:"owners" doc:"supplementary groups, as a list or a comma-separated text"`
	Append         bool             `yaml:"append" default:"true" doc:"false: remove the user from groups that are not listed; true: keep them. Default true"`
	Comment        *string          `yaml:"comment" rule:"colonless" doc:"full name or purpose of the user; default: that of the existing user"`
	Home           string           `yaml:"home" rule:"path" doc:"home directory; default: chosen by the system"`
	CreateHome     *bool            `yaml:"create_home" doc:"create the home directory of a new user; default true, false for system users"`
	MoveHome       bool             `yaml:"move_home" doc:"move the contents of the old home directory when home changes; default false"`
	Shell          string           `yaml:"shell" rule:"path" doc:"login shell; default: that of the existing user, /usr/sbin/nologin for a new system user"`
	System         bool             `yaml:"system" doc:"create a system user, with a number from that range and no home directory. Default false"`
	Password       string           `yaml:"password" rule:"own" doc:"hash of the password, as mkpasswd --method=yescrypt prints; \"!\" or \"*\" for no password. Default: unchanged; a new user has none"`
	UpdatePassword string           `yaml:"update_password" enum:"always,on_create" doc:"on_create: set the password of a new user only. Default always"`
	Locked         *bool            `yaml:"locked" doc:"forbid logins with the password, without changing it; SSH keys still work. Default: unchanged"`
	State          string           `yaml:"state" enum:"present,absent" doc:"present or absent; default present"`
	Remove         bool             `yaml:"remove" doc:"with state absent: also remove the home directory and mail. Default false"`
}

// NewUser returns the arguments with their defaults.
func NewUser() *User { return &User{Append: true} }

// Valid implements engine.Validator.
func (u *User) Valid() error {
	if !validName(u.Name) {
		return fmt.Errorf("%q is not a name for a user", u.Name)
	}
	if u.Password != "" && !strings.HasPrefix(u.Password, "$") && u.Password != "!" && u.Password != "*" {
		return errors.New("password is not a hash that begins with $: make one with mkpasswd --method=yescrypt") // the error must not contain the password
	}
	if strings.ContainsAny(u.Password+u.Home+u.Shell, ":\n") || u.Comment != nil && strings.ContainsAny(*u.Comment, ":\n") {
		return errors.New("comment, home, shell and password can have neither colons nor line ends")
	}
	return nil
}

// Check reads /etc/passwd, /etc/group and, for a password, /etc/shadow.
func (u *User) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	if err := u.Valid(); err != nil {
		return engine.Change{}, err
	}
	have, err := entry(sys, "/etc/passwd", u.Name)
	if err != nil {
		return engine.Change{}, err
	}
	effect := engine.Effect{Kind: engine.EffectFile, Target: "user " + u.Name}
	switch {
	case u.State == "absent" && have == nil:
		return engine.NoChange(nil), nil
	case have == nil:
		effect.Action = "create"
		return engine.Changed(effect), nil
	case len(have) < 7:
		return engine.Change{}, fmt.Errorf("the line of %s in /etc/passwd lacks fields: repair it with vipw", u.Name)
	case u.State == "absent":
		effect.Action = "remove"
		if u.Remove {
			effect.Action = "remove with " + have[5] + " (cannot be undone)"
		}
		return engine.Changed(effect), nil
	case u.UID != 0 && have[2] != strconv.Itoa(u.UID):
		return engine.Change{}, fmt.Errorf("user %s has the number %s, not %d: files would change hands, so change it by hand", u.Name, have[2], u.UID)
	}
	words, err := u.differences(sys, have)
	if err != nil || len(words) == 0 {
		return engine.NoChange(engine.Output{"uid": number(have[2]), "home": have[5], "shell": have[6]}), err
	}
	effect.Action = "set " + strings.Join(words, ", ")
	return engine.Changed(effect), nil
}

func number(s string) int {
	n, _ := strconv.Atoi(s) // a line without a number yields 0
	return n
}

// differences describes the differences between an existing user and the wanted one.
func (u *User) differences(sys engine.System, have []string) ([]string, error) {
	var out []string
	for _, d := range []struct{ what, want, have string }{{"home", u.Home, have[5]}, {"shell", u.Shell, have[6]}} {
		if d.want != "" && d.want != d.have {
			out = append(out, d.what+" "+d.want)
		}
	}
	if u.Comment != nil && *u.Comment != have[4] {
		out = append(out, fmt.Sprintf("comment %q", *u.Comment))
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
	words, err := u.groupDifferences(sys)
	if err != nil {
		return nil, err
	}
	secrets, err := u.passwordDifferences(sys)
	return slices.Concat(out, words, secrets), err
}

func (u *User) groupDifferences(sys engine.System) ([]string, error) {
	if u.Groups == nil {
		return nil, nil
	}
	in, err := groupsOf(sys, u.Name)
	if err != nil {
		return nil, err
	}
	var out []string
	wanted := u.groups()
	if missing := without(wanted, in); len(missing) > 0 {
		out = append(out, "further groups "+strings.Join(missing, " "))
	}
	if extra := without(in, wanted); len(extra) > 0 && !u.Append {
		out = append(out, "no longer in groups "+strings.Join(extra, " "))
	}
	return out, nil
}

// groups returns the supplementary groups; a text with commas is split.
func (u *User) groups() []string {
	var out []string
	for _, text := range u.Groups {
		for _, name := range strings.Split(text, ",") {
			if name = strings.TrimSpace(name); name != "" {
				out = append(out, name)
			}
		}
	}
	return out
}

// without returns the members of a list that another one does not have.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

// Apply runs useradd, usermod or userdel.
func (u *User) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	have, err := entry(sys, "/etc/passwd", u.Name)
	if err != nil {
		return nil, err
	}
	now, err := lookUser(sys, u.Name)
	if err == nil {
		err = sys.BackupState("user", u.Name, now)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case u.State == "absent":
		return nil, u.remove(ctx, sys)
	case have == nil:
		err = u.create(ctx, sys)
	default:
		err = u.modify(ctx, sys)
	}
	if err == nil {
		err = u.setPassword(ctx, sys, have == nil)
	}
	if err != nil {
		return nil, err
	}
	if have, err = entry(sys, "/etc/passwd", u.Name); err != nil || len(have) < 7 {
		return nil, errors.Join(err, fmt.Errorf("user %s is not in /etc/passwd after useradd", u.Name))
	}
	return engine.Output{"uid": number(have[2]), "home": have[5], "shell": have[6]}, nil
}

func (u *User) remove(ctx context.Context, sys engine.System) error {
	argv := []string{"userdel"}
	if u.Remove {
		if err := sys.MarkIrreversible("home directory of "+u.Name, "it was removed with the user"); err != nil {
			return err
		}
		argv = append(argv, "--remove")
	}
	_, err := hostcmd.Run(ctx, sys, append(argv, u.Name)...)
	return err
}
