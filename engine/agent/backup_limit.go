package agent

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"deployer/engine"
	"deployer/engine/hostpath"
)

// Limits of the backup of one file: backups are rarely needed, and must not fill the
// disk of a host.
const (
	maxKeptFile = 512 << 20 // bytes; programs and configuration are smaller, data is not for a revert
	smallFile   = 1 << 20   // bytes up to which a file is backed up however little space is free
	maxReserve  = 1 << 30   // bytes that stay free after the copy, at most a tenth of the file system
)

// backupRefusal returns the reason why a file of this size is not backed up in dir;
// empty when it is. The texts have no numbers of the host, so that the plans of many
// hosts stay equal.
func backupRefusal(dir string, size int64) string {
	switch {
	case size > maxKeptFile:
		return fmt.Sprintf("it is larger than %d MiB, the limit for backups", maxKeptFile>>20)
	case size > smallFile && !hasRoom(dir, size):
		return "a copy of it would fill the disk"
	}
	return ""
}

// hasRoom reports whether size bytes can be written below dir, which need not exist,
// and the reserve stays free. A file system that does not report its size has room.
func hasRoom(dir string, size int64) bool {
	var st unix.Statfs_t
	err := unix.Statfs(dir, &st)
	for isMissing(err) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		err = unix.Statfs(dir, &st)
	}
	if err != nil {
		return true
	}
	block := uint64(st.Bsize)
	return uint64(size)+min(st.Blocks*block/10, maxReserve) <= st.Bavail*block
}

const irreversibleMark = " (cannot be restored: "

// markIrreversible marks the effects of a check that replace a file too large for a
// backup.
func (r *stepRun) markIrreversible(change *engine.Change) {
	root := r.server.path("/")
	for i, e := range change.Effects {
		if e.Kind != engine.EffectFile || !filepath.IsAbs(e.Target) {
			continue
		}
		info, err := hostpath.Lstat(root, e.Target)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if why := backupRefusal(r.server.state.dir, info.Size()); why != "" {
			change.Effects = slices.Clone(change.Effects)
			change.Effects[i].Action += irreversibleMark + why + ")"
		}
	}
}

// reportIrreversible marks the effects of a result that have replaced files without
// a backup, where the check did not.
func (r *stepRun) reportIrreversible(change *engine.Change) {
	if r.check {
		return
	}
	k, err := r.server.state.backupWriter(r.run)
	if err != nil {
		return // the step has failed with the same error
	}
	for _, line := range k.replacedWithoutBackup(r.step.ID) {
		text := irreversibleMark + line.Lost + ")"
		at := slices.IndexFunc(change.Effects, func(e engine.Effect) bool { return e.Target == line.Name })
		switch {
		case at < 0:
			change.Effects = append(slices.Clip(change.Effects), engine.Effect{Kind: engine.EffectFile, Target: line.Name, Action: "replace" + text})
		case !strings.HasSuffix(change.Effects[at].Action, text):
			change.Effects = slices.Clone(change.Effects)
			change.Effects[at].Action += text
		}
	}
}
