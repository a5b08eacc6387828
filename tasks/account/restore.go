package account

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// UserRestorer restores users with their numbers, groups and passwords; GroupRestorer
// restores groups with their members.
var (
	UserRestorer = &engine.Restorer{Effect: engine.EffectFile, Restore: restoreUser,
		Read: func(_ context.Context, sys engine.System, name string) (engine.State, error) {
			return lookUser(sys, name)
		}}
	GroupRestorer = &engine.Restorer{Effect: engine.EffectFile, Restore: restoreGroup,
		OwnerOf: func(key string) (kind, name string) {
			if user, ok := strings.CutPrefix(key, keyMember); ok {
				return "user", user
			}
			return "", ""
		},
		Read: func(_ context.Context, sys engine.System, name string) (engine.State, error) {
			return lookGroup(sys, name)
		}}
)

const (
	keyPassword = engine.SecretKey + "password"
	// keyMember is the prefix of the keys for a group's members, one key for each.
	keyMember = "member "
)

func lookUser(sys engine.System, name string) (engine.State, error) {
	have, err := entry(sys, "/etc/passwd", name)
	if err != nil || len(have) < 7 {
		return nil, err
	}
	s := engine.State{"uid": have[2], "gid": have[3], "comment": have[4], "home": have[5], "shell": have[6]}
	groups, err := groupsOf(sys, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	slices.Sort(groups)
	s["groups"] = strings.Join(groups, ",")
	shadow, err := entry(sys, "/etc/shadow", name)
	if len(shadow) > 1 {
		s[keyPassword] = shadow[1]
	}
	return s, err
}

func restoreUser(ctx context.Context, sys engine.System, name string, now, to engine.State) error {
	run := func(argv ...string) error {
		_, err := hostcmd.Run(ctx, sys, append(argv, name)...)
		return err
	}
	if len(to) == 0 {
		return run("userdel")
	}
	options := []string{"--gid", to["gid"], "--home", to["home"], "--shell", to["shell"], "--comment", to["comment"], "--groups", to["groups"]}
	switch {
	case len(now) == 0:
		if err := primaryGroup(ctx, sys, name, to["gid"]); err != nil {
			return err
		}
		if err := run(append([]string{"useradd", "--no-create-home", "--uid", to["uid"]}, options...)...); err != nil {
			return err
		}
	case now["uid"] != to["uid"]:
		return &engine.IrreversibleError{Reason: "another user has this name by now, with another number"}
	default:
		if err := run(append([]string{"usermod"}, options...)...); err != nil {
			return err
		}
	}
	if to[keyPassword] == now[keyPassword] || to[keyPassword] == "" {
		return nil
	}
	cmd := engine.Command{Argv: []string{"chpasswd", "--encrypted"}, Stdin: []byte(name + ":" + to[keyPassword] + "\n")}
	_, err := hostcmd.RunCommand(ctx, sys, cmd)
	return err
}

// primaryGroup creates the group that was removed together with its user.
func primaryGroup(ctx context.Context, sys engine.System, name, gid string) error {
	data, err := os.ReadFile(sys.Path("/etc/group"))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Split(line, ":"); len(fields) > 2 && fields[2] == gid {
			return nil
		}
	}
	_, err = hostcmd.Run(ctx, sys, "groupadd", "--gid", gid, name)
	return err
}

func lookGroup(sys engine.System, name string) (engine.State, error) {
	have, err := entry(sys, "/etc/group", name)
	if err != nil || len(have) < 4 {
		return nil, err
	}
	s := engine.State{"gid": have[2]}
	for _, member := range strings.FieldsFunc(have[3], func(r rune) bool { return r == ',' }) {
		s[keyMember+member] = "yes"
	}
	return s, nil
}

func restoreGroup(ctx context.Context, sys engine.System, name string, now, to engine.State) error {
	if len(to) == 0 {
		_, err := hostcmd.Run(ctx, sys, "groupdel", name)
		return err
	}
	if len(now) == 0 {
		if _, err := hostcmd.Run(ctx, sys, "groupadd", "--gid", to["gid"], name); err != nil {
			return err
		}
	}
	wanted := members(to)
	if slices.Equal(members(now), wanted) {
		return nil
	}
	_, err := hostcmd.Run(ctx, sys, "gpasswd", "--members", strings.Join(wanted, ","), name)
	return err
}

// members returns the members in a group's backup, sorted.
func members(s engine.State) []string {
	var out []string
	for key := range s {
		if user, ok := strings.CutPrefix(key, keyMember); ok {
			out = append(out, user)
		}
	}
	slices.Sort(out)
	return out
}

// keepHome records the paths that useradd creates: the home directory with the content
// of the skeleton.
func (u *User) keepHome(sys engine.System) error {
	home := u.Home
	if home == "" {
		home = "/home/" + u.Name
	}
	if _, err := os.Lstat(sys.Path(home)); err == nil {
		return nil
	}
	const skeleton = "/etc/skel"
	root := sys.Path(skeleton)
	return filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil && path != root {
			return err
		}
		if err := sys.Backup(filepath.Join(home, strings.TrimPrefix(path, root))); err != nil || path != root {
			return err
		}
		if _, err := os.Lstat(root); err != nil {
			return fs.SkipAll // the host has no skeleton
		}
		return nil
	})
}
