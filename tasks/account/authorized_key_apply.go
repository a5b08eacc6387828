package account

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"deployer/engine"
	"deployer/engine/hostpath"
	"deployer/tasks/hostcmd"
	"deployer/tasks/hostfile"
)

// Apply writes a temporary file and renames it.
func (a *AuthorizedKey) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	keys, err := a.keys()
	if err != nil {
		return nil, err
	}
	acc, err := findAccount(sys, a.User)
	if err != nil {
		return nil, err
	}
	if acc == nil {
		return nil, fmt.Errorf("there is no user %s in /etc/passwd: create it with the module user first", a.User)
	}
	have, err := acc.look(sys)
	if err != nil {
		return nil, err
	}
	home, err := hostfile.OpenDir(sys, acc.home)
	if err != nil {
		return nil, fmt.Errorf("the home directory of %s: %w; create it first", a.User, err)
	}
	defer home.Close()
	root := home.Root
	for _, name := range []string{sshDir, keysFile} {
		if err := sys.Backup(filepath.Join(acc.home, name)); err != nil {
			return nil, err
		}
	}
	if err := acc.directory(sys, home); err != nil {
		return nil, fmt.Errorf("creating %s: %w", filepath.Join(acc.home, sshDir), err)
	}
	want := edit(have.content, keys, a.State == "absent", a.Exclusive)
	if err := acc.replace(root, want); err != nil {
		return nil, fmt.Errorf("writing %s: %w", filepath.Join(acc.home, keysFile), err)
	}
	return nil, acc.label(ctx, sys)
}

// label sets the SELinux label of a new directory, without which sshd may not read it.
// label does nothing on a host without restorecon.
func (acc *account) label(ctx context.Context, sys engine.System) error {
	const restorecon = "/usr/sbin/restorecon"
	if _, err := os.Stat(sys.Path(restorecon)); err != nil {
		return nil //nolint:nilerr // the host has no SELinux
	}
	_, err := hostcmd.Run(ctx, sys, restorecon, "-R", filepath.Join(acc.home, sshDir))
	return err
}

func (acc *account) directory(sys engine.System, home *hostpath.Dir) error {
	made, err := home.Mkdir(sshDir, modeOf(sshDir))
	switch {
	case err == nil:
		defer made.Close()
		return made.Chown(acc.uid, acc.gid)
	case !errors.Is(err, fs.ErrExist):
		return err
	}
	return acc.own(sys, sshDir)
}

// own makes the user the owner of files that belong to others, and removes write
// permission of others. own leaves a link to a file of another user alone, because
// changing its target would give that file away.
func (acc *account) own(sys engine.System, name string) error {
	n, err := hostpath.Follow(sys.Path("/"), filepath.Join(acc.home, name))
	if err != nil {
		return err
	}
	defer n.Close()
	info, err := n.Stat()
	if err != nil || len(acc.wrong(name, info)) == 0 {
		return err
	}
	if err := n.Chown(acc.uid, acc.gid); err != nil {
		return err
	}
	if info.Mode()&0o022 == 0 {
		return nil
	}
	return n.Chmod(modeOf(name))
}

func (acc *account) replace(root *os.Root, content string) (err error) {
	temp := keysFile + ".deployer-" + rand.Text()
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, modeOf(keysFile))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = root.Remove(temp)
		}
	}()
	_, err = f.WriteString(content)
	err = errors.Join(err, f.Chown(acc.uid, acc.gid), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return root.Rename(temp, keysFile)
}
