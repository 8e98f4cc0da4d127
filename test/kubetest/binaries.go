package kubetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	mainModule       = "github.com/clusterzone/clusterzone"
	apiserverPackage = "k8s.io/kubernetes/cmd/kube-apiserver"
	etcdPackage      = "go.etcd.io/etcd/server/v3"

	// buildRecipe is part of the cache key: change it with what build does.
	buildRecipe = "1"
)

// Binaries returns the paths of kube-apiserver and etcd. The first call for a
// state of test/kube builds them with the go command that is on the PATH, and
// says so through progress (which may be nil); later calls, from any process,
// find them below os.UserCacheDir()/clusterzone/kube. Processes that call it at
// the same time wait for the one that builds. It works in any folder from which
// the go command sees this module.
//
// Folders of earlier versions stay until someone removes them (about 150 MB
// each).
func Binaries(ctx context.Context, progress func(string)) (apiserver, etcd string, err error) {
	if progress == nil {
		progress = func(string) {}
	}
	source, err := toolModule(ctx)
	if err != nil {
		return "", "", err
	}
	key, err := buildKey(ctx, source)
	if err != nil {
		return "", "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", "", fmt.Errorf("kubetest: no folder to keep kube-apiserver and etcd in; set XDG_CACHE_HOME or HOME: %w", err)
	}
	dir := filepath.Join(cache, "clusterzone", "kube", key)
	err = buildOnce(ctx, dir, progress, func(into string) error {
		return build(ctx, source, into)
	})
	if err != nil {
		return "", "", err
	}
	return filepath.Join(dir, "kube-apiserver"), filepath.Join(dir, "etcd"), nil
}

// buildOnce makes the folder dir by calling build with an empty folder beside
// it, which takes dir's name when build has succeeded: dir exists whole or not
// at all. Of several processes one builds and the others wait.
func buildOnce(ctx context.Context, dir string, progress func(string), build func(into string) error) error {
	if complete(dir) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("kubetest: cache folder: %w", err)
	}
	unlock, err := lock(ctx, dir+".lock", func() {
		progress("waiting for another process that is building kube-apiserver and etcd")
	})
	if err != nil {
		return fmt.Errorf("kubetest: waiting for another build of kube-apiserver and etcd: %w", err)
	}
	defer unlock()
	if complete(dir) {
		return nil
	}
	// The lock makes this name ours alone; what lies there is from a build that
	// was killed.
	temp := dir + ".tmp"
	if err := os.RemoveAll(temp); err != nil {
		return fmt.Errorf("kubetest: cache folder: %w", err)
	}
	if err := os.Mkdir(temp, 0o755); err != nil {
		return fmt.Errorf("kubetest: cache folder: %w", err)
	}
	defer os.RemoveAll(temp)

	progress("building kube-apiserver and etcd, once, about 5 minutes on 2 cores")
	start := time.Now()
	if err := build(temp); err != nil {
		return err
	}
	if err := os.Rename(temp, dir); err != nil {
		return fmt.Errorf("kubetest: cache folder: %w", err)
	}
	progress(fmt.Sprintf("built kube-apiserver and etcd in %s", time.Since(start).Round(time.Second)))
	return nil
}

func complete(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// build compiles both programs of the module in folder source into the folder
// into.
func build(ctx context.Context, source, into string) error {
	// Without this, the API server calls itself v0.0.0-master, and clients that
	// ask for its version (Helm charts do) take it for an ancient one.
	version, err := goCommand(ctx, source, "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	if err != nil {
		return err
	}
	numbers := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(numbers) != 3 {
		return fmt.Errorf("kubetest: module k8s.io/kubernetes has the version %q, want one like v1.37.2 in test/kube/go.mod", version)
	}
	const stamp = "-X k8s.io/component-base/version."
	ldflags := "-s -w " + stamp + "gitVersion=" + version + " " + stamp + "gitMajor=" + numbers[0] + " " + stamp + "gitMinor=" + numbers[1]
	_, err = goCommand(ctx, source, "build", "-mod=readonly", "-ldflags", ldflags,
		"-o", into+string(filepath.Separator), apiserverPackage, etcdPackage)
	if err != nil {
		return err
	}
	// The go command names a program after its folder, here "server".
	if err := os.Rename(filepath.Join(into, "server"), filepath.Join(into, "etcd")); err != nil {
		return fmt.Errorf("kubetest: %w", err)
	}
	return nil
}

// buildKey names what the programs are built from: the same key, the same
// programs.
func buildKey(ctx context.Context, source string) (string, error) {
	h := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return "", fmt.Errorf("kubetest: the module of kube-apiserver and etcd: %w", err)
		}
		fmt.Fprintf(h, "%s %d\n%s", name, len(data), data)
	}
	compiler, err := goCommand(ctx, source, "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return "", err
	}
	fmt.Fprintf(h, "%s\n%s", compiler, buildRecipe)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// toolModule returns the folder test/kube.
func toolModule(ctx context.Context) (string, error) {
	root, err := goCommand(ctx, "", "list", "-m", "-f", "{{.Dir}}", mainModule)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "test", "kube")
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("kubetest: %s has no go.mod; kube-apiserver and etcd are built from a checkout of %s, not from the module cache", dir, mainModule)
	}
	return dir, nil
}

// goCommand runs the go command in the folder dir ("" for the present one) and
// returns what it printed, without the space around it.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	// test/kube is in no workspace: its versions are its own.
	if dir != "" {
		cmd.Env = append(os.Environ(), "GOWORK=off")
	}
	// Compilers that outlive a cancelled go command hold its pipes open.
	cmd.WaitDelay = 5 * time.Second
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return "", fmt.Errorf("kubetest: go %s: stopped, the test's time is up (run go run ./test/kubetest/cmd/build first): %w", args[0], ctx.Err())
	}
	if err != nil {
		return "", fmt.Errorf("kubetest: go %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
