package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"deployer/ansible"
	"deployer/ansible/convert"
	"deployer/engine/lang"
	"deployer/engine/session"
	"deployer/tasks"
	"deployer/test/fleet"
)

// playbookFile is the playbook of a case. Its paths begin with {{ root }}. A directory
// before holds the files that the host has at the start.
const playbookFile = "playbook.yml"

// playPlaybook has Ansible run the playbook on this machine, below a directory.
func playPlaybook(ctx context.Context, dir, work string) (Answer, error) {
	root := filepath.Join(work, "root")
	if err := prepareRoot(dir, root); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "ansible-playbook", "-i", "localhost,", "-c", "local", "-e", "root="+root, "-e", "ansible_python_interpreter=/usr/bin/python3", filepath.Join(dir, playbookFile)) //nolint:gosec // the path is of a case
	cmd.Dir = work
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + work, "LC_ALL=C.UTF-8", "ANSIBLE_NOCOLOR=1", "ANSIBLE_LOCALHOST_WARNING=False",
		"ANSIBLE_LOCAL_TEMP=" + filepath.Join(work, "tmp"), "ANSIBLE_REMOTE_TEMP=" + filepath.Join(work, "remote")}
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		return nil, fmt.Errorf("ansible-playbook: %w", err)
	}
	failed := cmd.ProcessState.ExitCode() != 0
	if failed && bytes.Contains(out, []byte("ERROR!")) {
		return nil, fmt.Errorf("ansible-playbook: %s", out)
	}
	return readRoot(root, failed)
}

// prepareRoot makes the directory that stands for /.
func prepareRoot(dir, root string) error {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	before := filepath.Join(dir, "before")
	if _, err := os.Stat(before); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return os.CopyFS(root, os.DirFS(before))
}

// readRoot returns the files below a directory, with their contents and modes.
func readRoot(root string, failed bool) (Answer, error) {
	a := Answer{"failed": failed}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		if err != nil || rel == "." || strings.HasPrefix(rel, "var/lib/deployer") || strings.HasPrefix(rel, "run/") || rel == "run" || rel == "var" || rel == "var/lib" {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		key := "file /" + rel
		switch {
		case d.IsDir():
			a[key] = "directory " + info.Mode().Perm().String()
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			// The text of a skipped command names a path, which is another one in each run.
			a[key] = info.Mode().Perm().String() + " " + strings.ReplaceAll(string(data), root, "")
		default:
			a[key] = info.Mode().Type().String()
		}
		return nil
	})
	return a, err
}

// convertPlaybook converts the case and runs the result on a host of its own in this
// process.
func convertPlaybook(ctx context.Context, dir, work string) (Own, error) {
	site := filepath.Join(work, "site")
	notes, err := convertTo(dir, site)
	if err != nil {
		return Own{}, err
	}
	f, err := fleet.Start(1, fleet.Options{Dir: filepath.Join(work, "fleet"), Name: func(int) string { return "localhost" }})
	if err != nil {
		return Own{}, err
	}
	defer f.Close()
	root := f.Hosts[0].Root
	if err := prepareRoot(dir, root); err != nil {
		return Own{}, err
	}
	inv, err := f.Inventory(fleet.Site{Vars: map[string]any{"root": ""}})
	if err != nil {
		return Own{}, err
	}
	blobs, err := fleet.NewBlobs()
	if err != nil {
		return Own{}, err
	}
	c := fleet.Controller{Inventory: inv, Playbook: os.DirFS(site), Main: playbookFile, Blobs: blobs, Retry: session.Retry{Initial: 20 * time.Millisecond, Max: 100 * time.Millisecond}}
	report, err := c.Run(ctx, "20260101-000000-0000")
	if err != nil {
		notes = append(notes, err.Error())
		return Own{Answer: Answer{}, Notes: notes, Listed: func(string, any, any) bool { return true }}, nil
	}
	failed := false
	for _, h := range report.Hosts {
		failed = failed || h.Failed > 0
		if h.Failure != nil { // an error is not silent
			notes = append(notes, h.FailedStep+": "+h.Failure.Message)
		}
	}
	answer, err := readRoot(root, failed)
	return Own{Answer: answer, Notes: notes, Listed: func(string, any, any) bool { return len(notes) > 0 }}, err
}

// convertTo translates the files of a case into a directory, and returns the notes, except
// the one about hosts that do not wait for each other: there is one host.
func convertTo(dir, into string) ([]string, error) {
	var modules []string
	for _, k := range tasks.Modules() {
		modules = append(modules, k.Name)
	}
	k := convert.NewKnowledge()
	w := &convert.Translator{Modules: modules, Renamed: ansible.ModuleNames(), Expressions: k.Expressions(lang.NeedsDot)}
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		if err != nil || d.IsDir() || strings.HasPrefix(rel, "before/") || rel == answerFile {
			return err
		}
		files[rel], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		return nil, err
	}
	for name, data := range files {
		k.Learn(name, data)
	}
	var notes []string
	for name, data := range files {
		translated, text, found, err := w.File(name, data)
		if err != nil {
			return nil, err
		}
		for _, n := range found {
			if !strings.Contains(n.Text, "strategy: linear") {
				notes = append(notes, name+":"+n.String())
			}
		}
		target := filepath.Join(into, translated)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(target, text, 0o600); err != nil {
			return nil, err
		}
	}
	return notes, nil
}
