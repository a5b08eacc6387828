package pipeline

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"deployer/ci/report"
)

// WriteReports writes a run in all forms to a directory: report.json, summary.md,
// summary.html, junit.xml and gl-code-quality.json, and the metrics to the file that the
// runner has for them. Secrets
// are masked in all of them.
func (p *Pipeline) WriteReports(r *report.Run, dir string) error {
	if err := p.refuseLinkedReports(); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	data, err := json.MarshalIndent(r, "", " ")
	html, htmlErr := report.HTML(r)
	junit, junitErr := report.JUnit(r)
	gitlab, gitlabErr := report.GitLab(r)
	errs := []error{err, htmlErr, junitErr, gitlabErr}
	for name, text := range map[string]string{
		"report.json": string(data) + "\n", "summary.md": report.Markdown(r), "summary.html": html, "junit.xml": junit, "gl-code-quality.json": gitlab,
	} {
		errs = append(errs, writeAtomically(filepath.Join(dir, name), p.Mask(text), 0o600))
	}
	if p.Metrics != "" {
		errs = append(errs, writeAtomically(p.Metrics, p.Mask(report.Metrics(r)), 0o644)) // the collector runs as another user
	}
	return errors.Join(errs...)
}

// writeAtomically replaces a file, so that readers such as the node exporter never see half
// of it.
func writeAtomically(path, text string, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err = f.Chmod(mode); err == nil {
		_, err = f.WriteString(text)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
