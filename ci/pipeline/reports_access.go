package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// prepareReports makes the directory of the reports. Logs and artifacts that are there already,
// such as those of a deployer that made them readable for all, are restricted to their owner.
func (p *Pipeline) prepareReports() error {
	if err := p.refuseLinkedReports(); err != nil {
		return err
	}
	dir := p.Reports()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if p.ReportsDir == "" {
		if err := restrict(filepath.Dir(dir)); err != nil { // of all revisions
			return err
		}
		return restrict(dir)
	}
	return restrictReports(dir)
}

// refuseLinkedReports returns an error when the directory of the reports is a symbolic link in the
// work tree: a revision would choose which files of the runner are replaced.
func (p *Pipeline) refuseLinkedReports() error {
	if p.ReportsDir == "" || filepath.Base(p.Repository.Dir) != ".git" {
		return nil
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(p.ReportsDir))
	if err != nil {
		return nil //nolint:nilerr // it does not exist yet
	}
	rel, err := filepath.Rel(filepath.Dir(p.Repository.Dir), parent)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return nil //nolint:nilerr // outside of the work tree
	}
	if info, err := os.Lstat(p.ReportsDir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("the directory of the reports, %s, is a symbolic link of the revision: name a directory outside of the work tree", p.ReportsDir)
	}
	return nil
}

// ownNames are the files and directories that deployer makes in the directory of reports, besides
// the logs of stages.
var ownNames = []string{"plans", "runs", "artifacts", "report.json", "summary.md", "summary.html", "junit.xml", "gl-code-quality.json"}

// restrictReports restricts what deployer has made in a directory of reports, which may have
// other files.
func restrictReports(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if name == "." || err != nil {
			return err
		}
		if top, _, _ := strings.Cut(name, "/"); !slices.Contains(ownNames, top) && (top != name || filepath.Ext(name) != ".log") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil || !d.IsDir() && !d.Type().IsRegular() || info.Mode().Perm()&0o077 == 0 {
			return err
		}
		return root.Chmod(name, info.Mode().Perm()&^0o077)
	})
}

// restrict removes the permissions of group and others from a directory.
func restrict(dir string) error {
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	if err := os.Chmod(dir, info.Mode().Perm()&^0o077); err != nil {
		return errors.Join(errors.New("restricting logs and artifacts to their owner"), err)
	}
	return nil
}
