package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/clusterzone/clusterzone/filewatch"
	"github.com/clusterzone/clusterzone/server"
	"github.com/clusterzone/clusterzone/zones"
)

// readKeys reads the keys of all flags. No error holds a secret.
func (s *transferSettings) readKeys() (all []server.TSIGKey, err error) {
	add := func(from string, keys ...server.TSIGKey) error {
		for _, key := range keys {
			for _, other := range all {
				if other.Name() == key.Name() {
					return fmt.Errorf("%s: the key %s is given twice; give each key once", from, key.Name())
				}
			}
			all = append(all, key)
		}
		return nil
	}
	for _, path := range s.keyFiles {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("--tsig-key-file=%s can't be read (%w); name a file of keys", path, pathError(err))
		}
		keys, err := server.ParseTSIGKeyFile(text)
		if err != nil {
			return nil, fmt.Errorf("--tsig-key-file: %s:%w", path, err)
		}
		if err := add("--tsig-key-file="+path, keys...); err != nil {
			return nil, err
		}
	}
	for _, text := range s.keys {
		key, err := parseTSIGKey(text)
		if err != nil {
			return nil, fmt.Errorf("--tsig-key: %w", err)
		}
		if err := add("--tsig-key", key); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// parseTSIGKey reads ALGORITHM:NAME:SECRET or ALGORITHM:NAME:@FILE.
func parseTSIGKey(text string) (server.TSIGKey, error) {
	algorithm, rest, _ := strings.Cut(text, ":")
	name, secret, ok := strings.Cut(rest, ":")
	if !ok || name == "" || secret == "" {
		return server.TSIGKey{}, errors.New("this is no key; write it as ALGORITHM:NAME:SECRET, like hmac-sha256:transfer.corp.test:@/etc/tsig/secret")
	}
	if path, file := strings.CutPrefix(secret, "@"); file {
		content, err := os.ReadFile(path)
		if err != nil {
			return server.TSIGKey{}, fmt.Errorf("the secret of the key %s can't be read from %s (%w); name a file that holds it in base64", name, path, pathError(err))
		}
		secret = string(content)
	}
	return server.NewTSIGKey(name, algorithm, secret)
}

// tsigFiles keep the server's keys equal to the files that they stand in. One
// goroutine follows the files while metrics are read.
type tsigFiles struct {
	followedFiles
	settings *transferSettings
	needed   []zones.Name // those that other flags name
	keys     *server.TSIGKeys
	now      []server.TSIGKey // what keys has
	broken   atomic.Bool      // the files can't be used as they are now
	log      *slog.Logger
	said     string // the error logged last

	unreadable *prometheus.Desc
}

// newTSIGFiles returns nil where no key is in a file.
func newTSIGFiles(log *slog.Logger, s *transferSettings, parsed *transferParts, keys *server.TSIGKeys) *tsigFiles {
	f := &tsigFiles{
		followedFiles: s.files(), settings: s, keys: keys, now: parsed.keys, log: log,
		unreadable: prometheus.NewDesc("clusterzone_tsig_keys_unreadable",
			"1 when the files of TSIG keys can't be used now, so that the keys stay as they were.", nil, nil),
	}
	if len(f.followedFiles) == 0 {
		return nil
	}
	for _, rule := range parsed.rules {
		f.needed = append(f.needed, rule.Key)
	}
	for _, target := range parsed.targets {
		f.needed = append(f.needed, target.Key)
	}
	return f
}

// files are those that keys stand in.
func (s *transferSettings) files() followedFiles {
	files := slices.Clone(s.keyFiles)
	for _, text := range s.keys {
		if _, path, is := strings.Cut(text, ":@"); is {
			files = append(files, path)
		}
	}
	return files
}

// follow takes over what changes in the files until ctx is done.
func (f *tsigFiles) follow(ctx context.Context) {
	filewatch.Run(ctx, f.log, "the files of TSIG keys", f)
}

// read returns the keys as the files have them now.
func (f *tsigFiles) read() ([]server.TSIGKey, error) {
	keys, err := f.settings.readKeys()
	if err != nil {
		return nil, err
	}
	for _, name := range f.needed {
		if name != "" && !slices.ContainsFunc(keys, func(k server.TSIGKey) bool { return k.Name() == name }) {
			return nil, fmt.Errorf("the key %s has gone from the files, and --allow-transfer or --notify names it; put it back, or start with other flags", name)
		}
	}
	return keys, nil
}

// Refresh implements filewatch.Reader: it takes over the keys where they have
// changed. A fault is logged once and changes nothing.
func (f *tsigFiles) Refresh() {
	keys, err := f.read()
	f.broken.Store(err != nil)
	if err != nil {
		if err.Error() != f.said {
			f.log.Error("the TSIG keys stay as they were", "err", err)
		}
		f.said = err.Error()
		return
	}
	if slices.EqualFunc(keys, f.now, server.TSIGKey.Equal) {
		if f.said != "" {
			f.log.Info("the TSIG keys are again as they were")
		}
		f.said = ""
		return
	}
	f.said = ""
	f.now = keys
	f.keys.Set(keys)
	names := make([]string, 0, len(keys))
	for _, key := range keys {
		names = append(names, key.String())
	}
	f.log.Info("the TSIG keys have changed", "keys", strings.Join(names, ", "))
}

// Describe implements prometheus.Collector.
func (f *tsigFiles) Describe(ch chan<- *prometheus.Desc) { ch <- f.unreadable }

// Collect implements prometheus.Collector.
func (f *tsigFiles) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(f.unreadable, prometheus.GaugeValue, number(f.broken.Load()))
}
