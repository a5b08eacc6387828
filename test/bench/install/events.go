package main

import (
	"encoding/json"
	"fmt"
	"os"

	"deployer/engine"
)

// readEvents reads what `--output json` wrote.
func readEvents(path string) ([]engine.Event, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []engine.Event
	decoder := json.NewDecoder(file)
	for decoder.More() {
		var e engine.Event
		if err := decoder.Decode(&e); err != nil {
			return nil, fmt.Errorf("reading event %d of %s: %w", len(all)+1, path, err)
		}
		all = append(all, e)
	}
	return all, nil
}
