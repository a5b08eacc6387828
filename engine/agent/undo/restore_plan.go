package undo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"deployer/engine"
	"deployer/engine/hostpath"
)

// restoreDecision is the decision of a revert about one resource.
type restoreDecision struct {
	*resourceChange
	now, to engine.State // of resources other than files: the present and the restored state
	state   engine.RevertState
	why     string
	effect  engine.Effect // of the restore
}

// decide compares the present state of a resource with what the run found and left,
// and decides whether the revert restores it.
func (v *revertModule) decide(ctx context.Context, sys engine.System, c *resourceChange) (*restoreDecision, error) {
	out := &restoreDecision{resourceChange: c}
	var err error
	switch {
	case c.before.Lost != "":
		out.state, out.why = engine.RevertLost, c.before.Lost
	case c.kind == kindFile:
		err = v.decideFile(out, sys)
	default:
		err = v.decideState(ctx, sys, out)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the state of %s %s: %w", c.kind, c.name, err)
	}
	if out.state == engine.RevertDrifted {
		out.why = "somebody has changed it since"
		if v.Force {
			out.state, out.why = engine.RevertRestore, ""
		}
	}
	return out, nil
}

// decideState decides about a resource other than a file.
func (v *revertModule) decideState(ctx context.Context, sys engine.System, out *restoreDecision) (err error) {
	restorer := v.store.registry[out.kind].Restorer
	if restorer == nil {
		out.state, out.why = engine.RevertLost, "this version of deployer cannot restore it"
		return nil
	}
	if out.now, err = restorer.Read(ctx, sys, out.name); err != nil {
		return err
	}
	if len(out.now) == 0 && restorer.EquivalentToAbsent != nil && restorer.EquivalentToAbsent(out.before.State) {
		out.state = engine.RevertUnchanged
		return nil
	}
	if restorer.OwnerOf != nil {
		out.dependent = func(key string) bool { return v.history.has(restorer.OwnerOf(key)) }
	}
	found := out.now
	if restorer.EquivalentToAbsent != nil && out.after != nil && len(out.after.State) == 0 && restorer.EquivalentToAbsent(found) {
		found = nil // only the file of the resource is back, which does not count as a state
	}
	out.to, out.state = out.target(found)
	out.effect = engine.Effect{Kind: restorer.Effect, Target: out.name, Action: describeStateChange(out.now, out.to)}
	if len(out.to) == 0 && restorer.Remainder != "" {
		out.effect.Action += "; " + restorer.Remainder
	}
	if restorer.Effect == engine.EffectFile {
		out.effect.Target = out.kind + " " + out.name
	}
	if !v.Preview || out.state != engine.RevertRestore || restorer.Irreversible == nil {
		return nil
	}
	why, err := restorer.Irreversible(ctx, sys, out.name, out.now, out.to)
	if why != "" {
		out.state, out.why = engine.RevertLost, why
	}
	return err
}

// decideFile decides about a file, directory or link.
func (v *revertModule) decideFile(out *restoreDecision, sys engine.System) error {
	root, path := sys.Path("/"), out.name
	now, err := describePath(root, path)
	if err != nil {
		return err
	}
	if out.before.Regenerated {
		return v.decideRegenerated(out, now)
	}
	settled, err := v.matchesAny(now, root, path, append(out.earlier, out.before))
	if err != nil {
		return err
	}
	if settled || out.before.File != nil && out.before.File.Mode.IsDir() && isMountPoint(sys.Path(path)) {
		out.state = engine.RevertUnchanged
		return nil
	}
	known, err := v.matchesAny(now, root, path, out.later)
	if err != nil {
		return err
	}
	// A directory that the run created is removed when it is empty. Its owner and mode
	// are ignored: what was mounted on it when the step ended had its own.
	known = known || out.before.File == nil && now.Mode.IsDir() && slices.ContainsFunc(out.later, func(k BackupRecord) bool { return k.File != nil && k.File.Mode.IsDir() })
	if out.state = engine.RevertDrifted; known || out.interrupted {
		out.state = engine.RevertRestore
	}
	out.effect = engine.Effect{Kind: engine.EffectFile, Target: out.name, Action: describeFileRestore(now, out.before.File), Secret: out.secret}
	if !out.secret {
		out.effect.Diff = v.diff(root, out, now)
	}
	return nil
}

// isMountPoint reports whether something is mounted on a directory and hides it.
func isMountPoint(path string) bool {
	var on, under syscall.Stat_t
	err := errors.Join(syscall.Lstat(path, &on), syscall.Lstat(filepath.Dir(path), &under))
	return err == nil && on.Mode&syscall.S_IFMT == syscall.S_IFDIR && on.Dev != under.Dev
}

// matchesAny reports whether the file at path is as one of the records describes.
func (v *revertModule) matchesAny(now *File, root, path string, lines []BackupRecord) (bool, error) {
	for _, k := range lines {
		if is, err := v.matches(now, root, path, k); is || err != nil {
			return is, err
		}
	}
	return false, nil
}

// matches reports whether the file at path is as a record describes: same access,
// and same content as far as the record has it.
func (v *revertModule) matches(now *File, root, path string, k BackupRecord) (bool, error) {
	switch {
	case now == nil || k.File == nil:
		return now == nil && k.File == nil, nil
	case !now.sameAccess(k.File) || now.Mode.IsRegular() && now.Size != k.File.Size:
		return false, nil
	case !now.Mode.IsRegular():
		return true, nil
	case k.Data != "":
		return sameContent(root, path, v.contentPath(k))
	case now.unmodifiedSince(k.File):
		return true, nil
	case k.File.Digest == "":
		return false, nil
	}
	digest, err := digestFile(root, path)
	return digest == k.File.Digest, err
}

// contentPath returns the path of the backup that a record refers to.
func (v *revertModule) contentPath(k BackupRecord) string {
	return filepath.Join(v.history.dir, "kept", k.Data)
}

// sameContent reports whether a file of the host has the content of a backup.
func sameContent(root, path, kept string) (bool, error) {
	n, err := hostpath.Open(root, path)
	if err != nil {
		return false, err
	}
	defer n.Close()
	one, err := n.File()
	if err != nil {
		return false, err
	}
	defer func() { _ = one.Close() }()
	other, err := os.Open(kept)
	if err != nil {
		return false, err
	}
	defer func() { _ = other.Close() }()
	left, right := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, err := io.ReadFull(one, left)
		m, err2 := io.ReadFull(other, right)
		if !bytes.Equal(left[:n], right[:m]) {
			return false, nil
		}
		if err != nil || err2 != nil {
			return atEnd(err) && atEnd(err2), errors.Join(unlessEnd(err), unlessEnd(err2))
		}
	}
}

func atEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

func unlessEnd(err error) error {
	if atEnd(err) {
		return nil
	}
	return err
}

// describeFileRestore returns the action that a plan shows for restoring a file.
func describeFileRestore(now, was *File) string {
	switch {
	case was == nil && now.Mode.IsDir():
		return "remove the directory if it is empty: it was not there before"
	case was == nil:
		return "remove: it was not there before"
	case now == nil:
		return "bring back"
	case was.Mode&fs.ModeSymlink != 0:
		return "link to " + was.Link + " again"
	case was.Mode == now.Mode && was.UID == now.UID && was.GID == now.GID:
		return "restore the content"
	case was.Mode.IsDir():
		return fmt.Sprintf("restore mode %v, owner %d:%d", was.Mode, was.UID, was.GID)
	}
	return fmt.Sprintf("restore content, mode %v, owner %d:%d", was.Mode, was.UID, was.GID)
}

// maxDiffed is the maximum number of bytes of each side of a diff.
const maxDiffed = 512 << 10

// diff returns the unified diff between the file and its backup; empty when one of
// them is no text.
func (v *revertModule) diff(root string, out *restoreDecision, now *File) string {
	before, ok := text(now, func() ([]byte, error) { return readFile(root, out.name) })
	after, ok2 := text(out.before.File, func() ([]byte, error) { return os.ReadFile(v.contentPath(out.before)) })
	if !ok || !ok2 {
		return ""
	}
	return udiff.Unified(out.name, out.name, before, after)
}

// text returns the content of a file that read returns; false for one that is no
// text, or larger than maxDiffed.
func text(f *File, read func() ([]byte, error)) (string, bool) {
	if f == nil {
		return "", true
	}
	if !f.Mode.IsRegular() || f.Size > maxDiffed {
		return "", false
	}
	content, err := read()
	return string(content), err == nil && utf8.Valid(content) && bytes.IndexByte(content, 0) < 0
}

// readFile returns the first maxDiffed bytes of a file of the host.
func readFile(root, path string) ([]byte, error) {
	n, err := hostpath.Open(root, path)
	if err != nil {
		return nil, err
	}
	defer n.Close()
	f, err := n.File()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, maxDiffed))
}
