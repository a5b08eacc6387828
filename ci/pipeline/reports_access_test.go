package pipeline_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/ci/pipeline"
	"deployer/ci/report"
)

// TestReportsAreRestricted: logs and artifacts of an earlier run that all users can read get the
// mode of new ones; other files of the directory stay as they are.
func TestReportsAreRestricted(t *testing.T) {
	s := newSite(t, map[string]string{"inventory.yaml": inventoryOf("a", "v1.35.4", "n[1:2]")})
	o := s.options()
	o.ReportsDir = filepath.Join(s.fake, "reports")
	for _, name := range []string{"validate.log", "former.log", "report.json", "plans/inventory.yaml/plan.json", "runs/inventory.yaml/1.json", "artifacts/a", "other/x.log", "README"} {
		s.write(filepath.Join(o.ReportsDir, name), "former")
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(o.ReportsDir, "link.log")); err != nil {
		t.Fatal(err)
	}
	r, p := s.run(o)
	s.requireOutcome(r, report.Deployed)
	if err := p.WriteReports(r, o.ReportsDir); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(o.ReportsDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == o.ReportsDir || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(o.ReportsDir, path)
		others := strings.HasPrefix(name, "other") || name == "README"
		if wide := info.Mode().Perm()&0o077 != 0; wide != others {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}

	reports := filepath.Join(s.fake, "state", "reports")
	s.write(filepath.Join(reports, "earlier", "validate.log"), "former")
	if err := os.Chmod(reports, 0o755); err != nil {
		t.Fatal(err)
	}
	s.run(s.options())
	if info, err := os.Stat(reports); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the reports of all revisions have mode %v, %v", info.Mode(), err)
	}
}

// TestReportsInALink: a revision does not choose the directory in which reports are written.
func TestReportsInALink(t *testing.T) {
	victim := t.TempDir()
	s := newSite(t, map[string]string{"inventory.yaml": inventoryOf("a", "v1.35.4", "n[1:2]")})
	if err := os.Symlink(victim, filepath.Join(s.dir, "reports")); err != nil {
		t.Fatal(err)
	}
	s.git("add", "reports")
	s.git("commit", "-q", "-m", "link")
	o := s.options()
	o.ReportsDir, o.New = filepath.Join(s.dir, "reports"), "HEAD~1"
	p, err := pipeline.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(t.Context())
	if _, err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "is a symbolic link of the revision") {
		t.Errorf("run: %v", err)
	}
	if err := p.WriteReports(&report.Run{}, o.ReportsDir); err == nil {
		t.Error("reports were written")
	}
	if left, err := os.ReadDir(victim); err != nil || len(left) > 0 {
		t.Errorf("the other directory has %v, %v", left, err)
	}
}
