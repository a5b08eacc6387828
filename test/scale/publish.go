package main

import (
	"errors"
	"os"
	"path/filepath"
)

// The files of the page below the directory of documentation.
const (
	pageFile        = "scale.md"
	proxyPlotFile   = "images/scale-proxy.svg"
	installPlotFile = "images/scale-install.svg"
)

// rendered returns the page and its plots by their paths below the directory of documentation.
func rendered(r *results) (map[string]string, error) {
	text, err := page(r)
	return map[string]string{pageFile: text, proxyPlotFile: proxyPlot(r.Proxy), installPlotFile: installPlot(r.Install)}, err
}

// publish writes the page and its plots below dir.
func publish(r *results, dir string) error {
	files, err := rendered(r)
	for name, text := range files {
		path := filepath.Join(dir, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
	}
	return err
}
