-- Neovim as a client of `mirage lsp`: what a user does, step by step. NVIM 0.7 has no vim.lsp.start; this works in all.
-- The environment says what to run: SERVER (JSON: the command), REPORT (where to write what was seen, as JSON).
local report = { steps = {} }

local function leave(status)
  local file = assert(io.open(os.getenv("REPORT"), "w"))
  file:write(vim.fn.json_encode(report))
  file:close()
  vim.cmd("cquit " .. status)
end

local function wait(what, question)
  if not vim.wait(20000, question, 50) then
    report.failed = "waited in vain for " .. what
    leave(1)
  end
end

local function step()
  vim.bo.filetype = "python"
  local id = vim.lsp.start_client({
    name = "mirage",
    cmd = vim.fn.json_decode(os.getenv("SERVER")),
    root_dir = vim.fn.getcwd(),
    init_options = { trusted = true, startDaemon = false, debounceMs = 20 },
  })
  vim.lsp.buf_attach_client(0, id)
  wait("the client", function() return vim.lsp.buf_is_attached(0, id) end)

  -- diagnostics
  wait("a diagnostic", function() return #vim.diagnostic.get(0) == 1 end)
  local found = vim.diagnostic.get(0)[1]
  report.diagnostic = { line = found.lnum, column = found.col, message = found.message }

  -- a quick fix, from the diagnostic's place
  local function act(line, part)
    vim.cmd("let &undolevels = &undolevels") -- what follows is undone by itself, as between two of a user's commands
    vim.api.nvim_win_set_cursor(0, { line + 1, 0 })
    local params = vim.lsp.util.make_range_params(0, "utf-16")
    params.context = { diagnostics = {} }
    local answer = vim.lsp.buf_request_sync(0, "textDocument/codeAction", params, 10000)[id].result
    for _, action in ipairs(answer) do
      if action.title:find(part, 1, true) then
        if action.data then
          local resolved = vim.lsp.buf_request_sync(0, "codeAction/resolve", action, 10000)
          action = resolved[id].result
        end
        if action.edit then vim.lsp.util.apply_workspace_edit(action.edit, "utf-16") end
        if action.command then vim.lsp.buf_request_sync(0, "workspace/executeCommand", action.command, 10000) end
        return action.title
      end
    end
    report.failed = "no action like " .. part .. ": " .. vim.fn.json_encode(answer)
    leave(1)
  end
  report.fix = act(found.lnum, "give a size")
  wait("no diagnostic", function() return #vim.diagnostic.get(0) == 0 end)

  -- lens and hover, once the answer is there
  local line = vim.fn.search("^@mirage", "nw") - 1
  local at = { textDocument = vim.lsp.util.make_text_document_params(0), position = { line = line, character = 0 } }
  local function hover()
    local answer = vim.lsp.buf_request_sync(0, "textDocument/hover", at, 10000)[id].result
    return answer and answer.contents and answer.contents.value or ""
  end
  wait("the answer", function() return hover():find("1.8x", 1, true) ~= nil end)
  report.hover = hover()
  local lenses = vim.lsp.buf_request_sync(0, "textDocument/codeLens", { textDocument = at.textDocument }, 10000)
  report.lens = lenses[id].result[1].command.title

  -- replace, save, restore, save
  report.replace = act(line, "with the kernel")
  vim.cmd("write")
  report.replaced = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n") .. "\n"
  wait("the block's lens", function()
    local now = vim.lsp.buf_request_sync(0, "textDocument/codeLens", { textDocument = at.textDocument }, 10000)
    local first = now[id].result[1]
    return first ~= nil and first.command.title:find("replaced", 1, true) ~= nil
  end)
  report.restore = act(vim.fn.search("^# mirage:begin", "nw") - 1, "restore")
  vim.cmd("write")
  report.restored = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n") .. "\n"
  vim.cmd("undo")
  report.undone = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n") .. "\n"
  vim.cmd("undo")
  report.before = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n") .. "\n"
  vim.lsp.stop_client(id)
end

local fine, why = pcall(step)
if not fine then report.failed = tostring(why) end
leave(fine and 0 or 1)
