package agent

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

// verdict is what is to be done with a thing.
type verdict struct {
	*changed
	now, to engine.State // not of files
	fate    engine.Fate
	why     string
	effect  engine.Effect // when it is put back
}

// judge looks at what a thing is now.
func (v *reverting) judge(ctx context.Context, sys engine.System, c *changed) (*verdict, error) {
	out := &verdict{changed: c}
	var err error
	switch {
	case c.was.Lost != "":
		out.fate, out.why = engine.Lost, c.was.Lost
	case c.kind == kindFile:
		err = v.judgeFile(out, sys)
	default:
		err = v.judgeState(ctx, sys, out)
	}
	if err != nil {
		return nil, fmt.Errorf("looking at %s %s: %w", c.kind, c.name, err)
	}
	if out.fate == engine.Drifted {
		out.why = "somebody has changed it since"
		if v.Force {
			out.fate, out.why = engine.PutBack, ""
		}
	}
	return out, nil
}

func (v *reverting) judgeState(ctx context.Context, sys engine.System, out *verdict) (err error) {
	restorer := v.step.server.registry[out.kind].Restorer
	if restorer == nil {
		out.fate, out.why = engine.Lost, "this version of deployer cannot put it back"
		return nil
	}
	if out.now, err = restorer.Look(ctx, sys, out.name); err != nil {
		return err
	}
	if len(out.now) == 0 && restorer.Idle != nil && restorer.Idle(out.was.State) {
		out.fate = engine.Settled
		return nil
	}
	if restorer.Of != nil {
		out.follows = func(key string) bool { return v.past.has(restorer.Of(key)) }
	}
	found := out.now
	if restorer.Idle != nil && out.left != nil && len(out.left.State) == 0 && restorer.Idle(found) {
		found = nil // its file is back, and that is all
	}
	out.to, out.fate = out.restored(found)
	out.effect = engine.Effect{Kind: restorer.Effect, Target: out.name, Action: words(out.now, out.to)}
	if len(out.to) == 0 && restorer.Behind != "" {
		out.effect.Action += "; " + restorer.Behind
	}
	if restorer.Effect == engine.EffectFile {
		out.effect.Target = out.kind + " " + out.name
	}
	if !v.Look || out.fate != engine.PutBack || restorer.Cannot == nil {
		return nil
	}
	why, err := restorer.Cannot(ctx, sys, out.name, out.now, out.to)
	if why != "" {
		out.fate, out.why = engine.Lost, why
	}
	return err
}

func (v *reverting) judgeFile(out *verdict, sys engine.System) error {
	root, path := sys.Path("/"), out.name
	now, err := look(root, path)
	if err != nil {
		return err
	}
	settled, err := v.fileIsOne(now, root, path, append(out.before, out.was))
	if err != nil {
		return err
	}
	if settled || out.was.File != nil && out.was.File.Mode.IsDir() && hidden(sys.Path(path)) {
		out.fate = engine.Settled
		return nil
	}
	known, err := v.fileIsOne(now, root, path, out.after)
	if err != nil {
		return err
	}
	// A directory that the run made goes when it is empty. Its access tells
	// nothing: what was mounted on it when the step ended had access of its own.
	known = known || out.was.File == nil && now.Mode.IsDir() && slices.ContainsFunc(out.after, func(k Kept) bool { return k.File != nil && k.File.Mode.IsDir() })
	if out.fate = engine.Drifted; known || out.cut {
		out.fate = engine.PutBack
	}
	out.effect = engine.Effect{Kind: engine.EffectFile, Target: out.name, Action: fileWords(now, out.was.File), Secret: out.secret}
	if !out.secret {
		out.effect.Diff = v.diff(root, out, now)
	}
	return nil
}

// hidden tells whether something is mounted on a directory: what one sees is that.
func hidden(path string) bool {
	var on, under syscall.Stat_t
	err := errors.Join(syscall.Lstat(path, &on), syscall.Lstat(filepath.Dir(path), &under))
	return err == nil && on.Mode&syscall.S_IFMT == syscall.S_IFDIR && on.Dev != under.Dev
}

// fileIsOne tells whether what is at path now is what one of the lines says.
func (v *reverting) fileIsOne(now *File, root, path string, lines []Kept) (bool, error) {
	for _, k := range lines {
		if is, err := v.fileIs(now, root, path, k); is || err != nil {
			return is, err
		}
	}
	return false, nil
}

// fileIs tells whether what is at path now is what a line says.
func (v *reverting) fileIs(now *File, root, path string, k Kept) (bool, error) {
	switch {
	case now == nil || k.File == nil:
		return now == nil && k.File == nil, nil
	case !now.sameAccess(k.File) || now.Mode.IsRegular() && now.Size != k.File.Size:
		return false, nil
	case !now.Mode.IsRegular():
		return true, nil
	case k.Data != "":
		return sameContent(root, path, v.data(k))
	case now.sameWriting(k.File):
		return true, nil
	case k.File.Digest == "":
		return false, nil
	}
	digest, err := digestFile(root, path)
	return digest == k.File.Digest, err
}

// data is the path of the content that a line refers to.
func (v *reverting) data(k Kept) string { return filepath.Join(v.past.dir, "kept", k.Data) }

// sameContent compares a file of the host with one that was kept.
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

func fileWords(now, was *File) string {
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
		return "put back the content"
	case was.Mode.IsDir():
		return fmt.Sprintf("put back mode %v, owner %d:%d", was.Mode, was.UID, was.GID)
	}
	return fmt.Sprintf("put back content, mode %v, owner %d:%d", was.Mode, was.UID, was.GID)
}

// maxDiffed is how much of each side a diff is made of, in bytes.
const maxDiffed = 512 << 10

// diff shows what putting back does to a text; empty for what is none.
func (v *reverting) diff(root string, out *verdict, now *File) string {
	before, ok := text(now, func() ([]byte, error) { return readFile(root, out.name) })
	after, ok2 := text(out.was.File, func() ([]byte, error) { return os.ReadFile(v.data(out.was)) })
	if !ok || !ok2 {
		return ""
	}
	return udiff.Unified(out.name, out.name, before, after)
}

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

// readFile reads a file of the host as far as a diff is made of it.
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
