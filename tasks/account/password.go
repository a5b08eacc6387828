package account

import (
	"context"
	"strings"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// lockMark is the prefix of a locked password's hash.
const lockMark = "!"

// hash returns the user's password hash in /etc/shadow, and whether the password is
// locked.
func hash(sys engine.System, name string) (hash string, locked bool, err error) {
	fields, err := entry(sys, "/etc/shadow", name)
	if err != nil || len(fields) < 2 {
		return "", false, err
	}
	rest, locked := strings.CutPrefix(fields[1], lockMark)
	if rest == "" {
		return fields[1], locked, nil
	}
	return rest, locked, nil
}

// passwordDifferences reports that the password differs, never how.
func (u *User) passwordDifferences(sys engine.System) ([]string, error) {
	if u.Password == "" && u.Locked == nil {
		return nil, nil
	}
	have, locked, err := hash(sys, u.Name)
	if err != nil {
		return nil, err
	}
	var out []string
	if u.Password != "" && u.Password != have && u.UpdatePassword != "on_create" {
		out = append(out, "password")
	}
	if u.Locked != nil && *u.Locked != locked {
		out = append(out, map[bool]string{true: "locked", false: "unlocked"}[*u.Locked])
	}
	return out, nil
}

// setPassword passes the hash to chpasswd on standard input, because every user of the
// host can read the arguments of processes.
func (u *User) setPassword(ctx context.Context, sys engine.System, created bool) error {
	have, locked, err := hash(sys, u.Name)
	if err != nil {
		return err
	}
	if u.Password != "" && u.Password != have && (created || u.UpdatePassword != "on_create") {
		stay := u.Password
		if locked && u.Locked == nil && !created && strings.HasPrefix(stay, "$") && have != lockMark {
			stay = lockMark + stay
		}
		cmd := engine.Command{Argv: []string{"chpasswd", "--encrypted"}, Stdin: []byte(u.Name + ":" + stay + "\n")}
		if _, err := hostcmd.RunCommand(ctx, sys, cmd); err != nil {
			return err
		}
	}
	if u.Locked == nil {
		return nil
	}
	if _, locked, err = hash(sys, u.Name); err != nil || *u.Locked == locked {
		return err
	}
	_, err = hostcmd.Run(ctx, sys, "usermod", map[bool]string{true: "--lock", false: "--unlock"}[*u.Locked], u.Name)
	return err
}
