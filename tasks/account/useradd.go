package account

import (
	"context"
	"strconv"
	"strings"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// create runs useradd.
func (u *User) create(ctx context.Context, sys engine.System) error {
	argv := []string{"useradd"}
	shell := u.Shell
	if u.System {
		argv = append(argv, "--system")
		if shell == "" {
			shell = "/usr/sbin/nologin"
		}
	}
	if u.CreateHome != nil && *u.CreateHome || u.CreateHome == nil && !u.System {
		if err := u.keepHome(sys); err != nil {
			return err
		}
		argv = append(argv, "--create-home")
	} else {
		argv = append(argv, "--no-create-home")
	}
	if u.UID != 0 {
		argv = append(argv, "--uid", strconv.Itoa(u.UID))
	}
	group := u.Group
	if group == "" {
		// useradd fails when the group to create exists.
		there, err := entry(sys, "/etc/group", u.Name)
		if err != nil {
			return err
		}
		if there != nil {
			group = u.Name
		} else {
			argv = append(argv, "--user-group")
		}
	}
	argv = append(argv, u.options(group, shell)...)
	if len(u.groups()) > 0 {
		argv = append(argv, "--groups", strings.Join(u.groups(), ","))
	}
	_, err := hostcmd.Run(ctx, sys, append(argv, u.Name)...)
	return err
}

// modify runs usermod with all wanted attributes; usermod leaves equal ones alone.
func (u *User) modify(ctx context.Context, sys engine.System) error {
	argv := u.options(u.Group, u.Shell)
	if u.Home != "" && u.MoveHome {
		argv = append(argv, "--move-home")
	}
	if u.Groups != nil {
		if u.Append {
			argv = append(argv, "--append")
		}
		argv = append(argv, "--groups", strings.Join(u.groups(), ","))
	}
	if len(argv) == 0 {
		return nil
	}
	_, err := hostcmd.Run(ctx, sys, append(append([]string{"usermod"}, argv...), u.Name)...)
	return err
}

func (u *User) options(group, shell string) []string {
	var out []string
	for _, o := range [][2]string{{"--gid", group}, {"--home", u.Home}, {"--shell", shell}} {
		if o[1] != "" {
			out = append(out, o[0], o[1])
		}
	}
	if u.Comment != nil {
		out = append(out, "--comment", *u.Comment)
	}
	return out
}
