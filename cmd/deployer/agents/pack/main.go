// Command pack compresses an agent binary for embedding: pack SOURCE DEST.
package main

import (
	"fmt"
	"os"

	"deployer/cmd/deployer/agents/packing"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: pack SOURCE DEST")
		os.Exit(2)
	}
	if err := pack(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func pack(source, dest string) error {
	plain, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	packed, err := packing.Pack(plain)
	if err != nil {
		return err
	}
	return os.WriteFile(dest, packed, 0o644)
}
