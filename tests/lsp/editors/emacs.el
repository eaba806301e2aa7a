;;; Emacs with eglot as a client of `mirage lsp`: what a user does, step by step.  -*- lexical-binding: t -*-
;; The environment says what to run: SERVER (JSON: the command), REPORT (where to write what was seen), SOURCE (the file).
(require 'python)
(require 'flymake)
(require 'eglot)
(require 'cl-lib)
(require 'json)

(defvar mirage-report nil)

(defun mirage-note (key value)
  (push (cons key value) mirage-report))

(defun mirage-leave (status)
  (let ((coding-system-for-write 'utf-8))
    (write-region (json-encode mirage-report) nil (getenv "REPORT")))
  (kill-emacs status))

(defun mirage-wait (what question)
  (let ((until (+ (float-time) 20)) found)
    (while (and (not (setq found (funcall question))) (< (float-time) until))
      (accept-process-output nil 0.05))
    (unless found (error "waited in vain for %s" what))
    found))

(defun mirage-text ()
  (buffer-substring-no-properties (point-min) (point-max)))

(defun mirage-ask (method params)
  (jsonrpc-request (eglot--current-server-or-lose) method params))

(defun mirage-act (place part)
  "Apply the action at PLACE whose title has PART, as eglot does when the user picks it."
  (goto-char place)
  (let* ((actions (mirage-ask :textDocument/codeAction
                              (list :textDocument (eglot--TextDocumentIdentifier)
                                    :range (list :start (eglot--pos-to-lsp-position place)
                                                 :end (eglot--pos-to-lsp-position place))
                                    :context (list :diagnostics []))))
         (action (cl-find-if (lambda (a) (string-match-p (regexp-quote part) (plist-get a :title))) actions)))
    (unless action (error "no action like %s in %S" part actions))
    (when (plist-get action :data)
      (setq action (mirage-ask :codeAction/resolve action)))
    (when (plist-get action :edit)
      (eglot--apply-workspace-edit (plist-get action :edit) nil))
    (let ((command (plist-get action :command)))
      (when command
        (mirage-ask :workspace/executeCommand
                    (list :command (plist-get command :command) :arguments (plist-get command :arguments)))))
    (plist-get action :title)))

(defun mirage-hover ()
  (goto-char (point-min))
  (search-forward "@mirage")
  (beginning-of-line)
  (let ((answer (mirage-ask :textDocument/hover (eglot--TextDocumentPositionParams))))
    (or (plist-get (plist-get answer :contents) :value) "")))

(defun mirage-steps ()
  (setq eglot-sync-connect 20 eglot-confirm-server-initiated-edits nil eglot-autoshutdown nil
        eglot-send-changes-idle-time 0.05 flymake-no-changes-timeout 0.1 make-backup-files nil)
  (let ((command (append (json-read-from-string (getenv "SERVER")) nil)))
    (add-to-list 'eglot-server-programs
                 (cons 'python-mode
                       (append command
                               '(:initializationOptions (:trusted t :startDaemon :json-false :debounceMs 20))))))
  (setq project-find-functions (list (lambda (_) (cons 'transient (file-name-directory (getenv "SOURCE"))))))
  (find-file (getenv "SOURCE"))
  (python-mode)
  (call-interactively #'eglot)
  (mirage-wait "a diagnostic" (lambda () (= (length (flymake-diagnostics)) 1)))
  (let ((found (car (flymake-diagnostics))))
    (mirage-note 'diagnostic
                 (list (cons 'line (1- (line-number-at-pos (flymake-diagnostic-beg found))))
                       (cons 'message (flymake-diagnostic-text found))))
    (mirage-note 'fix (mirage-act (flymake-diagnostic-beg found) "give a size")))
  (eglot--signal-textDocument/didChange)
  (mirage-wait "the answer" (lambda () (string-match-p "1\\.8x" (mirage-hover))))
  (mirage-note 'hover (mirage-hover))
  (mirage-wait "no diagnostic" (lambda () (null (flymake-diagnostics))))
  (mirage-hover)
  (mirage-note 'replace (mirage-act (point) "with the kernel"))
  (eglot--signal-textDocument/didChange)
  (save-buffer)
  (mirage-note 'replaced (mirage-text))
  (goto-char (point-min))
  (search-forward "# mirage:begin")
  (beginning-of-line)
  (mirage-note 'restore (mirage-act (point) "restore"))
  (save-buffer)
  (mirage-note 'restored (mirage-text)))

(condition-case why
    (mirage-steps)
  (error
   (mirage-note 'failed (format "%S" why))
   (mirage-leave 1)))
(mirage-leave 0)
